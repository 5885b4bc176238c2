#include "troupe/ops/normalization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/threads.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/simd/channel_kernels.h"
#include "troupe/ops/simd/lrn_kernels.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

Output of_training(const OutputList& x, const ReferenceCase& r) {
  return batch_norm(x[0], x[1], x[2], r.number("epsilon")).y;
}

Output of_given(const OutputList& x, const ReferenceCase& r) {
  return batch_norm_inference(x[0], x[1], x[2], x[3], x[4], r.number("epsilon"));
}

TEST(ReluBiasGrad, IsTheGradientOfAReluAndThatOfABias) {
  for (const auto type : {DType::float32, DType::float64})
    for (const Shape& shape : {Shape{1000, 5}, Shape{3, 40, 17, 64}, Shape{2, 3}}) {
      Graph g;
      const auto dy = constant(g, random_values(shape, 1).cast(type));
      const auto y = relu(constant(g, random_values(shape, 2).cast(type)));
      auto& both = g.add("relu_bias_grad", {dy, y});
      const auto dx = g.add("relu_grad", {dy, y}).output(0);
      const auto db = g.add("bias_add_grad", {dx}).output(0);
      Threads intra(2);
      const auto values = run_graph({both.output(0), both.output(1), dx, db}, {}, 0, intra);
      EXPECT_TRUE(same_bits(values[0], values[2])) << shape;
      expect_near(values[1], values[3], type == DType::float32 ? 1e-4 : 1e-12, "bias");
    }
}

TEST(BiasAdd, HasTheValuesAndGradientsOfTensorFlow) {
  check_references("matmul.txt", "bias_add",
                   [](const OutputList& x, const ReferenceCase&) { return bias_add(x[0], x[1]); });
}

TEST(Lrn, HasTheValuesAndGradientsOfTensorFlow) {
  check_references("normalization.txt", "lrn", [](const OutputList& x, const ReferenceCase& r) {
    return lrn(x[0], {.depth_radius = r.integer("depth_radius"),
                      .bias = r.number("bias"),
                      .alpha = r.number("alpha"),
                      .beta = r.number("beta")});
  });
}

TEST(BatchNorm, HasTheValuesAndGradientsOfTensorFlow) {
  check_references("normalization.txt", "batch_norm",
                   [](const OutputList& x, const ReferenceCase& r) {
                     return r.flag("training") ? of_training(x, r) : of_given(x, r);
                   });
}

TEST(BatchNorm, GivesTheStatisticsOfTheBatch) {
  check_references("normalization.txt", "batch_norm_statistics", of_training);
}

TEST(BatchNorm, MeasuresASmallVarianceOnTopOfALargeMean) {
  Graph g;
  const auto values = random_values({4000, 3}, 1, 1000, 0.01, DType::float32);
  const auto one = constant(g, Tensor::filled(DType::float32, {3}, 1));
  const auto results = batch_norm(constant(g, values), one, one, 1e-12);
  EXPECT_NEAR(run_graph(results.variance).at(0), 1e-4, 1e-5);
}

TEST(BatchNorm, HasNoGradientThroughItsStatistics) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {4, 2});
  const auto one = constant(g, Tensor::filled(DType::float32, {2}, 1));
  const auto results = batch_norm(x, one, one);
  EXPECT_EQ(message_of([&] {
              results.y.node().op->gradient(Backward(results.y.node(), {{}, one, {}}));
            }),
            "node 'batch_norm' (batch_norm): no gradient flows through the mean and the variance; "
            "put stop_gradient in front of what uses them");
}

TEST(Softmax, HasTheValuesAndGradientsOfTensorFlow) {
  check_references("losses.txt", "softmax",
                   [](const OutputList& x, const ReferenceCase&) { return softmax(x[0]); });
  check_references("losses.txt", "log_softmax",
                   [](const OutputList& x, const ReferenceCase&) { return log_softmax(x[0]); });
}

/// Everything that this file is about, for images of that shape.
OutputList all_of(Graph& g, const Shape& shape) {
  const auto x = constant(g, random_values(shape, 1, 0, 1, DType::float32));
  const auto scale = constant(g, random_values({shape[-1]}, 2, 1, 0.1, DType::float32));
  const auto offset = constant(g, random_values({shape[-1]}, 3, 0, 1, DType::float32));
  const auto normalized = batch_norm(x, scale, offset);
  OutputList all{bias_add(x, offset), lrn(x, {.depth_radius = 4, .alpha = 0.1, .beta = 0.75}),
                 normalized.y,        normalized.mean,
                 normalized.variance, batch_norm_inference(x, scale, offset, offset, scale),
                 softmax(x),          log_softmax(x)};
  for (auto y : OutputList(all)) {
    if (y.index() > 0) continue;
    OutputList dy(y.node().outputs.size());
    dy[0] = x;
    for (const auto& gradient : y.node().op->gradient(Backward(y.node(), dy)))
      if (gradient) all.push_back(gradient.values);
  }
  return all;
}

TEST(Normalization, DoesNotDependOnTheNumberOfThreads) {
  for (const std::int64_t channels : {3, 64, 100}) {
    Graph g;
    const auto all = all_of(g, {5, 41, 40, channels});
    const auto alone = run_graph(all);
    Threads intra(3);
    const auto shared = run_graph(all, {}, 0, intra);
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(same_bits(shared[i], alone[i])) << all[i].name() << ", " << channels;
  }
}

TEST(Normalization, OfNoImagesHasNoOutputAndNoGradient) {
  Graph g;
  for (const auto& result : run_graph(all_of(g, {0, 4, 5, 7})))
    for (std::int64_t i = 0; i < result.size(); ++i) EXPECT_EQ(result.at(i), 0);
}

TEST(Normalization, SaysWhatDoesNotFit) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 4, 4, 3});
  const auto four = constant(g, Tensor(DType::float32, {4}));
  const auto three = constant(g, Tensor(DType::float32, {3}));
  EXPECT_EQ(message_of([&] { bias_add(x, four); }),
            "node 'bias_add' (bias_add): input 1 has shape [4], but needs one value per channel of "
            "[?, 4, 4, 3]: [3]");
  EXPECT_EQ(message_of([&] { bias_add(three, three); }),
            "node 'bias_add' (bias_add): input 0 has shape [3], but needs at least two axes: [..., "
            "channels]");
  EXPECT_EQ(
      message_of([&] { batch_norm(x, three, four); }),
      "node 'batch_norm' (batch_norm): input 2 has shape [4], but needs one value per channel "
      "of [?, 4, 4, 3]: [3]");
  EXPECT_EQ(message_of([&] { lrn(x, {.depth_radius = -1}); }),
            "node 'lrn' (lrn): depth_radius is -1, but must not be negative");
  EXPECT_EQ(message_of([&] { softmax(constant(g, 1.0)); }),
            "node 'softmax' (softmax): input 0 is a scalar, but needs at least one axis");
}

TEST(ChannelKernels, OfEveryInstructionSetGiveTheSame) {
  using namespace simd;
  constexpr std::int64_t kRows = 19, kColumns = 37;
  const auto x = random_values({kRows, kColumns}, 1, 0, 1, DType::float32);
  const auto dy = random_values({kRows, kColumns}, 2, 0, 1, DType::float32);
  const auto row = random_values({5, kColumns}, 3, 1, 0.1, DType::float32);
  const auto all = [&](Isa isa) {
    std::vector<std::vector<float>> results;
    const auto out = [&](std::int64_t size) { return results.emplace_back(size).data(); };
    const auto* in = x.read<float>().data();
    const auto* gradient = dy.read<float>().data();
    const auto values = [&](int i) { return row.read<float>().data() + i * kColumns; };
    const auto size = kRows * kColumns;
    const LrnSizes sizes{kColumns, 4, 1, 0.1, 0.75};
    std::vector<float> scratch(sizes.scratch());
    pick(v2::add_row<float>, v3::add_row<float>, v4::add_row<float>, isa)(in, values(0), out(size),
                                                                          kRows, kColumns);
    pick(v2::sum_rows<float>, v3::sum_rows<float>, v4::sum_rows<float>, isa)(in, out(kColumns),
                                                                             kRows, kColumns);
    auto* two = out(2 * kColumns);
    pick(v2::shifted_sums<float>, v3::shifted_sums<float>, v4::shifted_sums<float>, isa)(
        in, values(0), two, two + kColumns, kRows, kColumns);
    two = out(2 * kColumns);
    pick(v2::gradient_sums<float>, v3::gradient_sums<float>, v4::gradient_sums<float>, isa)(
        in, values(0), gradient, two, two + kColumns, kRows, kColumns);
    pick(v2::normalize<float>, v3::normalize<float>, v4::normalize<float>, isa)(
        in, values(0), values(1), values(2), out(size), kRows, kColumns);
    pick(v2::normalize_gradient<float>, v3::normalize_gradient<float>,
         v4::normalize_gradient<float>,
         isa)(in, values(0), values(1), values(2), values(3), gradient, out(size), kRows, kColumns);
    pick(v2::lrn<float>, v3::lrn<float>, v4::lrn<float>, isa)(sizes, in, out(size), scratch.data(),
                                                              kRows);
    pick(v2::lrn_gradient<float>, v3::lrn_gradient<float>, v4::lrn_gradient<float>, isa)(
        sizes, in, gradient, out(size), scratch.data(), kRows);
    return results;
  };
  const auto plain = all(Isa::v2);
  for (const auto isa : {Isa::v3, Isa::v4}) {
    if (isa > best_isa()) continue;
    const auto wide = all(isa);
    for (std::size_t i = 0; i < plain.size(); ++i)
      EXPECT_THAT(wide[i], Pointwise(FloatNear(1e-5f), plain[i])) << i << to_string(isa);
  }
}

}  // namespace
}  // namespace troupe::test
