#include "troupe/ops/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/threads.h"
#include "troupe/ops/simd/pooling_kernels.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;

PoolingOptions options_of(const ReferenceCase& reference) {
  const auto pair = [&](const std::string& name) -> std::array<std::int64_t, 2> {
    const auto values = reference.integers(name);
    return {values.at(0), values.at(1)};
  };
  return {pair("window"), pair("strides"),
          reference.attribute("padding") == "SAME" ? Padding::same : Padding::valid};
}

TEST(MaxPool, HasTheValuesAndGradientsOfTensorFlow) {
  check_references("pool.txt", "max_pool", [](const OutputList& x, const ReferenceCase& r) {
    return max_pool(x[0], options_of(r));
  });
}

TEST(AvgPool, HasTheValuesAndGradientsOfTensorFlow) {
  check_references("pool.txt", "avg_pool", [](const OutputList& x, const ReferenceCase& r) {
    return avg_pool(x[0], options_of(r));
  });
}

TEST(MaxPool, GivesTheGradientToTheFirstOfEqualValues) {
  Graph g;
  const auto x = constant(g, Tensor::of<float>({1, 2, 4, 1}, {1, 3, 2, 2,  //
                                                              3, 3, 2, 2}));
  const auto y = max_pool(x);
  const auto dy = constant(g, Tensor::of<float>({1, 1, 2, 1}, {10, 20}));
  const auto dx = y.node().op->gradient(Backward(y.node(), {dy}));
  EXPECT_THAT(run_graph(dx[0].values).read<float>(), ElementsAre(0, 10, 20, 0, 0, 0, 0, 0));
}

TEST(MaxPool, LetsANanThrough) {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  for (const int channels : {1, 4, 19})
    for (const int place : {0, 1, 3}) {
      Graph g;
      auto values = random_values({1, 2, 2, channels}, 1, 0, 1, DType::float32);
      values.write<float>()[place * channels + channels - 1] = nan;
      const auto y = run_graph(max_pool(constant(g, values)));
      EXPECT_TRUE(std::isnan(y.at(channels - 1))) << place;
    }
}

TEST(Pooling, OfEveryInstructionSetGivesTheSame) {
  const simd::PoolingSizes sizes{{7, 3, 2, 4, 1}, {9, 2, 2, 5, 0}, 23};
  const auto x = random_values({7, 9, 23}, 1, 0, 1, DType::float32);
  const auto dy = random_values({4, 5, 23}, 2, 0, 1, DType::float32);
  const auto all = [&](simd::Isa isa) {
    const auto output = [](const Shape& shape) { return Tensor(DType::float32, shape); };
    TensorList results{output({4, 5, 23}), output({4, 5, 23}), output({7, 9, 23}),
                       output({7, 9, 23})};
    const auto* in = x.read<float>().data();
    const auto* gradient = dy.read<float>().data();
    const auto out = [&](int i) { return results[i].write<float>().data(); };
    using namespace simd;
    pick(v2::max_pool<float>, v3::max_pool<float>, v4::max_pool<float>, isa)(sizes, in, out(0));
    pick(v2::avg_pool<float>, v3::avg_pool<float>, v4::avg_pool<float>, isa)(sizes, in, out(1));
    pick(v2::max_pool_gradient<float>, v3::max_pool_gradient<float>, v4::max_pool_gradient<float>,
         isa)(sizes, in, out(0), gradient, out(2));
    pick(v2::avg_pool_gradient<float>, v3::avg_pool_gradient<float>, v4::avg_pool_gradient<float>,
         isa)(sizes, gradient, out(3));
    return results;
  };
  const auto plain = all(simd::Isa::v2);
  for (const auto isa : {simd::Isa::v3, simd::Isa::v4}) {
    if (isa > simd::best_isa()) continue;
    const auto wide = all(isa);
    for (int i = 0; i < 4; ++i) expect_near(wide[i], plain[i], 1e-6, simd::to_string(isa));
  }
}

TEST(Pooling, DoesNotDependOnTheNumberOfThreads) {
  Graph g;
  const auto x = constant(g, random_values({9, 31, 30, 17}, 1, 0, 1, DType::float32));
  for (auto* pool : {max_pool, avg_pool}) {
    const auto y = pool(x, {.window = {3, 3}, .strides = {2, 2}, .padding = Padding::same});
    const auto dx = y.node().op->gradient(Backward(y.node(), {y}))[0].values;
    const auto alone = run_graph({y, dx});
    Threads intra(4);
    const auto shared = run_graph({y, dx}, {}, 0, intra);
    EXPECT_TRUE(same_bits(shared[0], alone[0]));
    EXPECT_TRUE(same_bits(shared[1], alone[1]));
  }
}

TEST(Pooling, WithStridesWiderThanTheWindowLeavesGaps) {
  Graph g;
  const auto x = constant(g, Tensor::of<double>({1, 1, 7, 1}, {1, 2, 3, 4, 5, 6, 7}));
  const PoolingOptions options{.window = {1, 2}, .strides = {1, 3}};
  const auto y = avg_pool(x, options);
  EXPECT_THAT(run_graph(y).read<double>(), ElementsAre(1.5, 4.5));
  const auto dx = y.node().op->gradient(Backward(y.node(), {y}))[0].values;
  EXPECT_THAT(run_graph(dx).read<double>(), ElementsAre(.75, .75, 0, 2.25, 2.25, 0, 0));
}

TEST(Pooling, OfNoImagesHasNoOutput) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 6, 6, 3});
  const auto y = max_pool(x, {.padding = Padding::same});
  EXPECT_EQ(y.shape(), (Shape{-1, 3, 3, 3}));
  const auto dx = y.node().op->gradient(Backward(y.node(), {y}))[0].values;
  EXPECT_EQ(run_graph(dx, {{"x", Tensor(DType::float32, {0, 6, 6, 3})}}).shape(),
            (Shape{0, 6, 6, 3}));
}

TEST(Pooling, SaysWhatDoesNotFit) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 2, 9, 3});
  EXPECT_EQ(message_of([&] {
              max_pool(x, {.window = {3, 3}});
            }),
            "node 'max_pool' (max_pool): a window that covers 3 values of the height does not fit "
            "into an image of height 2; use padding 'SAME'");
  EXPECT_EQ(message_of([&] {
              avg_pool(x, {.window = {2, 0}});
            }),
            "node 'avg_pool' (avg_pool): window is [2, 0], but needs two positive integers: [along "
            "the height, along the width]");
  EXPECT_EQ(message_of([&] {
              max_pool(placeholder(g, "i", DType::int32, {1, 2, 2, 1}));
            }),
            "node 'max_pool' (max_pool): input 0 is int32, but must be float32 or float64");
}

}  // namespace
}  // namespace troupe::test
