#include "troupe/ops/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/threads.h"

namespace troupe::test {
namespace {

ConvolutionOptions options_of(const ReferenceCase& reference) {
  const auto pair = [&](const std::string& name) -> std::array<std::int64_t, 2> {
    if (!reference.has_attribute(name)) return {1, 1};
    const auto values = reference.integers(name);
    return {values.at(0), values.at(1)};
  };
  const auto same = reference.attribute("padding") == "SAME";
  return {pair("strides"), same ? Padding::same : Padding::valid, pair("dilations")};
}

TEST(Conv2d, HasTheValuesAndGradientsOfTensorFlow) {
  check_references("conv.txt", "conv2d", [](const OutputList& x, const ReferenceCase& reference) {
    return conv2d(x[0], x[1], options_of(reference));
  });
}

TEST(DepthwiseConv2d, HasTheValuesAndGradientsOfTensorFlow) {
  check_references("conv.txt", "depthwise_conv2d",
                   [](const OutputList& x, const ReferenceCase& reference) {
                     return depthwise_conv2d(x[0], x[1], options_of(reference));
                   });
}

/// A convolution in float64, whose kernels are plain loops, and in float32.
struct Twin {
  Shape images, filter;
  ConvolutionOptions options;
  bool depthwise = false;
};

/// The output and both gradients, for the sum of squares of the output.
TensorList run_all(const Twin& twin, DType type, IntraOp& intra = serial()) {
  Graph g;
  const auto x = constant(g, random_values(twin.images, 1).cast(type));
  const auto w = constant(g, random_values(twin.filter, 2).cast(type));
  const auto y = twin.depthwise ? depthwise_conv2d(x, w, twin.options) : conv2d(x, w, twin.options);
  const auto dx = y.node().op->gradient(Backward(y.node(), {y}));
  return run_graph({y, dx[0].values, dx[1].values}, {}, 0, intra);
}

const Twin kTwins[] = {
    {{3, 9, 11, 1}, {3, 4, 1, 5}, {{1, 2}, Padding::valid, {1, 1}}},
    {{2, 9, 8, 3}, {5, 5, 3, 64}, {{1, 1}, Padding::same, {1, 1}}},
    {{3, 7, 7, 16}, {3, 3, 16, 32}, {{2, 2}, Padding::same, {1, 1}}},
    {{2, 9, 9, 20}, {3, 3, 20, 33}, {{1, 1}, Padding::same, {2, 2}}},
    {{1, 5, 6, 7}, {1, 1, 7, 9}, {{1, 1}, Padding::same, {1, 1}}},
    {{5, 10, 10, 4}, {2, 2, 4, 6}, {{3, 3}, Padding::valid, {1, 1}}},  // stride > filter
    {{5, 10, 10, 4}, {1, 2, 4, 6}, {{3, 4}, Padding::same, {1, 1}}},
    {{2, 2, 2, 2}, {5, 5, 2, 3}, {{1, 1}, Padding::same, {1, 1}}},  // filter > image
    {{2, 8, 8, 32}, {3, 3, 32, 1}, {{1, 1}, Padding::same, {1, 1}}, true},
    {{2, 8, 8, 5}, {3, 3, 5, 4}, {{2, 2}, Padding::same, {1, 1}}, true},
    // These are large enough for Winograd's way.
    {{3, 14, 13, 32}, {5, 5, 32, 64}, {{1, 1}, Padding::same, {1, 1}}},
    {{2, 17, 18, 64}, {5, 5, 64, 32}, {{1, 1}, Padding::valid, {1, 1}}},
    {{3, 19, 21, 48}, {3, 3, 48, 32}, {{1, 1}, Padding::same, {1, 1}}},
    {{2, 30, 27, 32}, {3, 3, 32, 80}, {{1, 1}, Padding::valid, {1, 1}}},
};

/// The root of the mean square: what rounding errors of sums are to be compared with,
/// because single values may be small by chance.
double size_of_values(const Tensor& values) {
  double sum = 0;
  for (std::int64_t i = 0; i < values.size(); ++i) sum += values.at(i) * values.at(i);
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(1, values.size())));
}

TEST(Conv2d, InFloat32IsTheSameAsInFloat64) {
  for (const auto& twin : kTwins) {
    SCOPED_TRACE(testing::Message() << twin.images << " by " << twin.filter);
    const auto exact = run_all(twin, DType::float64);
    const auto fast = run_all(twin, DType::float32);
    for (int i = 0; i < 3; ++i)
      expect_near(fast[i], exact[i].cast(DType::float32),
                  1e-5 * std::max(1.0, size_of_values(exact[i])),
                  i == 0   ? "output"
                  : i == 1 ? "images"
                           : "filter");
  }
}

TEST(Conv2d, DoesNotDependOnTheNumberOfThreads) {
  const Twin large[] = {
      {{13, 20, 40, 1}, {3, 10, 1, 5}, {{1, 5}, Padding::valid, {1, 1}}},
      {{9, 12, 12, 24}, {5, 5, 24, 40}, {{1, 1}, Padding::same, {1, 1}}},
      {{7, 16, 16, 3}, {5, 5, 3, 64}, {{1, 1}, Padding::same, {1, 1}}},
      {{6, 8, 8, 64}, {5, 5, 64, 64}, {{1, 1}, Padding::same, {1, 1}}},
      {{6, 13, 14, 32}, {3, 3, 32, 48}, {{1, 1}, Padding::same, {1, 1}}},
      {{5, 14, 14, 64}, {1, 1, 64, 96}, {{1, 1}, Padding::same, {1, 1}}},
      {{6, 30, 30, 32}, {3, 3, 32, 1}, {{1, 1}, Padding::same, {1, 1}}, true},
  };
  for (const auto& twin : large) {
    SCOPED_TRACE(testing::Message() << twin.images << " by " << twin.filter);
    const auto alone = run_all(twin, DType::float32);
    for (const int threads : {2, 3, 16}) {
      Threads intra(threads);
      const auto shared = run_all(twin, DType::float32, intra);
      EXPECT_TRUE(same_bits(shared[0], alone[0])) << threads << " threads";
      EXPECT_TRUE(same_bits(shared[1], alone[1])) << threads << " threads";
      expect_near(shared[2], alone[2], 1e-5 * std::max(1.0, size_of_values(alone[2])),
                  "the gradient of the filter, added in other order");
      EXPECT_TRUE(same_bits(run_all(twin, DType::float32, intra)[2], shared[2]))
          << "the same order at every run";
    }
  }
}

TEST(Conv2d, OfNoImagesHasNoOutputAndNoGradient) {
  for (const auto type : {DType::float32, DType::float64}) {
    const Twin none{{0, 6, 7, 2}, {3, 3, 2, 4}, {{1, 1}, Padding::valid, {1, 1}}};
    const auto results = run_all(none, type);
    EXPECT_EQ(results[0].shape(), (Shape{0, 4, 5, 4}));
    EXPECT_EQ(results[1].shape(), (Shape{0, 6, 7, 2}));
    EXPECT_EQ(results[2], Tensor(type, {3, 3, 2, 4}));
  }
}

TEST(Conv2d, KnowsItsShapeForImagesOfUnknownNumberAndSize) {
  Graph g;
  const auto w = constant(g, Tensor(DType::float32, {3, 30, 1, 5}));
  const auto x = placeholder(g, "x", DType::float32, {-1, 20, 195, 1});
  EXPECT_EQ(conv2d(x, w, {.strides = {1, 5}}).shape(), (Shape{-1, 18, 34, 5}));
  EXPECT_EQ(conv2d(x, w, {.strides = {2, 2}, .padding = Padding::same}).shape(),
            (Shape{-1, 10, 98, 5}));
  const auto any = placeholder(g, "any", DType::float32, {-1, -1, 195, -1});
  EXPECT_EQ(conv2d(any, w, {.strides = {1, 5}}).shape(), (Shape{-1, -1, 34, 5}));
  const auto each = constant(g, Tensor(DType::float32, {3, 3, 4, 2}));
  const auto four = placeholder(g, "four", DType::float32, {-1, 8, 8, 4});
  EXPECT_EQ(depthwise_conv2d(four, each).shape(), (Shape{-1, 6, 6, 8}));
}

TEST(Conv2d, SaysWhatDoesNotFit) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 8, 9, 3});
  const auto filter = [&](const Shape& shape) {
    return constant(g, Tensor(DType::float32, shape));
  };
  EXPECT_EQ(message_of([&] {
              conv2d(x, filter({3, 3, 4, 5}));
            }),
            "node 'conv2d' (conv2d): the images have shape [?, 8, 9, 3] and so 3 channels, but the "
            "filter has shape [3, 3, 4, 5] and takes 4");
  EXPECT_EQ(message_of([&] {
              conv2d(x, filter({3, 5, 3, 5}), {.dilations = {1, 3}});
            }),
            "node 'conv2d' (conv2d): a window that covers 13 values of the width does not fit into "
            "an image of width 9; use padding 'SAME'");
  EXPECT_EQ(message_of([&] {
              conv2d(x, filter({3, 3, 3, 5}), {.strides = {0, 1}});
            }),
            "node 'conv2d' (conv2d): strides is [0, 1], but needs two positive integers: [along "
            "the height, along the width]");
  EXPECT_EQ(message_of([&] {
              conv2d(filter({8, 9, 3}), filter({3, 3, 3, 5}));
            }),
            "node 'conv2d' (conv2d): input 0 has shape [8, 9, 3], but needs 4 axes: [batch, "
            "height, width, channels]");
  EXPECT_EQ(message_of([&] {
              g.add("conv2d", {x, filter({3, 3, 3, 5})},
                    {{"strides", std::vector<std::int64_t>{1, 1}}, {"padding", "FULL"}}, "full");
            }),
            "node 'full' (conv2d): padding is 'FULL', but must be 'SAME' or 'VALID'");
}

TEST(FusedConv2d, AddsTheBiasAndCutsBelowZero) {
  for (const auto type : {DType::float32, DType::float64})
    for (const std::int64_t channels : {5, 32}) {
      Graph g;
      const auto x = constant(g, random_values({7, 12, 12, 32}, 1).cast(type));
      const auto w = constant(g, random_values({3, 3, 32, channels}, 2).cast(type));
      const auto bias = constant(g, random_values({channels}, 3, 0, 9).cast(type));
      const auto fused = [&](const char* activation) {
        return g
            .add("fused_conv2d", {x, w, bias},
                 {{"strides", std::vector<std::int64_t>{1, 1}},
                  {"padding", "SAME"},
                  {"activation", activation}})
            .output(0);
      };
      Threads intra(2);
      const auto values =
          run_graph({conv2d(x, w, {.padding = Padding::same}), bias, fused("none"), fused("relu")},
                    {}, 0, intra);
      for (std::int64_t i = 0; i < values[0].size(); ++i) {
        const auto sum = values[0].at(i) + values[1].at(i % channels);
        ASSERT_NEAR(values[2].at(i), sum, 1e-4);
        ASSERT_NEAR(values[3].at(i), std::max(0.0, sum), 1e-4);
      }
    }
}

}  // namespace
}  // namespace troupe::test
