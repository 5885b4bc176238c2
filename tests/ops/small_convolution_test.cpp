#include <gtest/gtest.h>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/threads.h"
#include "troupe/ops/convolution.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/pooling.h"

namespace troupe::test {
namespace {

using Integers = std::vector<std::int64_t>;

struct Layer {
  Shape images, weights;
  std::int64_t stride;
};
const Layer kLayers[] = {
    {{37, 20, 195, 1}, {3, 30, 1, 5}, 5},  // the headline program's
    {{1, 9, 12, 1}, {2, 3, 1, 1}, 1},
    {{18, 8, 31, 1}, {1, 7, 1, 6}, 3},
    {{0, 9, 12, 1}, {2, 3, 1, 2}, 1},
};

/// Once as one op and once as the ops that it stands for.
struct Both {
  explicit Both(const Layer& layer) {
    const auto values = [&](const Shape& shape, int seed) {
      return constant(g, random_values(shape, seed, 0, 1, DType::float32));
    };
    const auto x = values(layer.images, 1);
    const auto w = values(layer.weights, 2);
    const auto b = values({layer.weights[3]}, 3);
    auto& one =
        g.add("fused_conv_bias_relu_pool", {x, w, b}, {{"strides", Integers{1, layer.stride}}});
    const auto sum = bias_add(conv2d(x, w, {.strides = {1, layer.stride}}), b);
    const auto pooled = max_pool(relu(sum));
    const auto dy = values(pooled.shape(), 4);
    auto& gradient = g.add("fused_conv_bias_relu_pool_grad", {x, one.output(1), dy},
                           {{"strides", Integers{1, layer.stride}},
                            {"kernel", Integers{layer.weights[0], layer.weights[1]}}});
    fused = {one.output(0), gradient.output(0), gradient.output(1)};

    const auto back = [](Output y, Output dy, int input) {
      OutputList all(y.node().outputs.size());
      all[y.index()] = dy;
      return y.node().op->gradient(Backward(y.node(), all))[input].values;
    };
    const auto dsum = back(pooled.node().inputs[0], back(pooled, dy, 0), 0);
    plain = {pooled, back(sum.node().inputs[0], dsum, 1), back(sum, dsum, 1)};
  }

  Graph g;
  OutputList fused, plain;  // the output, the gradients of the weights and of the bias
};

TEST(SmallConvolution, IsConvolutionBiasReluAndPooling) {
  for (const auto& layer : kLayers) {
    SCOPED_TRACE(testing::Message() << layer.images << " by " << layer.weights);
    const Both both(layer);
    const auto fused = run_graph(both.fused);
    const auto plain = run_graph(both.plain);
    for (int i = 0; i < 3; ++i)
      expect_near(fused[i], plain[i], 1e-4, i == 0 ? "output" : i == 1 ? "weights" : "bias");
  }
}

TEST(SmallConvolution, DoesNotDependOnTheNumberOfThreads) {
  const Both both(kLayers[0]);
  const auto alone = run_graph(both.fused);
  Threads intra(3);
  const auto shared = run_graph(both.fused, {}, 0, intra);
  EXPECT_TRUE(same_bits(shared[0], alone[0]));
  expect_near(shared[1], alone[1], 1e-3, "the gradient of the weights, added in other order");
  expect_near(shared[2], alone[2], 1e-3, "the gradient of the bias");
  const auto again = run_graph(both.fused, {}, 0, intra);
  EXPECT_TRUE(same_bits(again[1], shared[1])) << "the same order at every run";
}

TEST(SmallConvolution, KnowsItsShapeForABatchOfUnknownSize) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 20, 195, 1});
  const auto w = placeholder(g, "w", DType::float32, {3, 30, 1, 5});
  const auto b = placeholder(g, "b", DType::float32, {5});
  auto& node = g.add("fused_conv_bias_relu_pool", {x, w, b}, {{"strides", Integers{1, 5}}});
  EXPECT_EQ(node.outputs[0], (TensorSpec{DType::float32, {-1, 9, 17, 5}}));
  EXPECT_EQ(node.outputs[1], (TensorSpec{DType::uint8, {-1, 9, 17, 5}}));
}

TEST(SmallConvolution, RefusesWhatItCannotDo) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 20, 195, 1});
  const auto wide = placeholder(g, "wide", DType::float32, {3, 30, 1, 64});
  const auto w = placeholder(g, "w", DType::float32, {3, 30, 1, 5});
  const auto b = placeholder(g, "b", DType::float32, {4});
  const auto add = [&](const OutputList& inputs) {
    g.add("fused_conv_bias_relu_pool", inputs, {{"strides", Integers{1, 5}}}, "first");
  };
  EXPECT_EQ(message_of([&] {
              add({x, wide, b});
            }),
            "node 'first' (fused_conv_bias_relu_pool): cannot be done for float32 [?, 20, 195, 1], "
            "a kernel of [3, 30], a stride of 5 and 64 channels; use conv2d and max_pool");
  EXPECT_EQ(message_of([&] {
              add({x, w, b});
            }),
            "node 'first' (fused_conv_bias_relu_pool): the weights have shape [3, 30, 1, 5] and "
            "the bias [4], but need [height, width, 1, channels] and [channels]");
}

}  // namespace
}  // namespace troupe::test
