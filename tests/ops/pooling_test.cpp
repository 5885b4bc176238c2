#include "troupe/ops/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/isa_levels.h"
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

/// A pooling that remembers its winners, and the one that looks for them again.
class MaxPoolWinners : public testing::TestWithParam<simd::Isa> {
 protected:
  /// The maxima, and the gradient of the images, as `pool` and `gradient` compute them.
  template <class Pool, class Gradient>
  TensorList run(const simd::PoolingSizes& sizes, const Tensor& x, const Tensor& dy, Pool pool,
                 Gradient gradient) const {
    Tensor y(DType::float32, dy.shape()), winners(DType::uint8, dy.shape());
    Tensor dx = Tensor::filled(DType::float32, x.shape(), 7);  // overwritten
    const auto* in = x.read<float>().data();
    auto* out = y.write<float>().data();
    auto* places = winners.write<std::uint8_t>().data();
    pool(sizes, in, out, places);
    gradient(sizes, in, out, places, dy.read<float>().data(), dx.write<float>().data());
    return {y, dx};
  }

  TensorList with_winners(const simd::PoolingSizes& sizes, bool relu, const Tensor& x,
                          const Tensor& dy) const {
    using namespace simd;
    const auto forward = pick(v2::max_pool_winners<float>, v3::max_pool_winners<float>,
                              v4::max_pool_winners<float>, GetParam());
    const auto backward =
        pick(v2::max_pool_winners_gradient<float>, v3::max_pool_winners_gradient<float>,
             v4::max_pool_winners_gradient<float>, GetParam());
    return run(
        sizes, x, dy,
        [&](auto& s, auto* in, auto* out, auto* places) { forward(s, relu, in, out, places); },
        [&](auto& s, auto*, auto*, auto* places, auto* gradient, auto* to) {
          backward(s, places, gradient, to);
        });
  }
  TensorList with_maxima(const simd::PoolingSizes& sizes, const Tensor& x, const Tensor& dy) const {
    const auto pool = TROUPE_PICK(max_pool<float>);
    const auto way_back = TROUPE_PICK(max_pool_gradient<float>);
    return run(
        sizes, x, dy, [&](auto& s, auto* in, auto* out, auto*) { pool(s, in, out); },
        [&](auto& s, auto* in, auto* out, auto*, auto* gradient, auto* to) {
          way_back(s, in, out, gradient, to);
        });
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, MaxPoolWinners, testing::ValuesIn(isa_levels()), isa_name);

const simd::PoolingSizes kPoolings[] = {
    {{8, 2, 2, 4, 0}, {6, 2, 2, 3, 0}, 32},  // each value under one window
    {{7, 3, 2, 4, 1}, {9, 3, 2, 5, 1}, 23},  // up to four
    {{7, 3, 1, 5, 0}, {6, 4, 1, 4, 1}, 5},   // up to twelve
    {{8, 2, 3, 3, 0}, {9, 2, 4, 2, 0}, 17},  // some under none
    {{5, 2, 2, 2, 0}, {5, 2, 2, 2, 0}, 1},   // the last ones under none
};

TEST_P(MaxPoolWinners, GivesWhatLookingForTheMaximaAgainGives) {
  for (const auto& sizes : kPoolings) {
    const auto x = random_values({sizes.rows.input, sizes.columns.input, sizes.channels}, 1, 0, 1,
                                 DType::float32);
    const auto dy = random_values({sizes.rows.output, sizes.columns.output, sizes.channels}, 2, 0,
                                  1, DType::float32);
    const auto got = with_winners(sizes, false, x, dy);
    const auto wanted = with_maxima(sizes, x, dy);
    EXPECT_EQ(got[0], wanted[0]);
    EXPECT_EQ(got[1], wanted[1]);
  }
}

TEST_P(MaxPoolWinners, AfterAReluHasNoGradientWhereThatCuts) {
  const auto& sizes = kPoolings[1];
  auto x = random_values({7, 9, 23}, 1, -0.5, 1, DType::float32);
  for (auto& value : x.write<float>()) value = std::max(value, 0.0f);
  const auto dy = random_values({4, 5, 23}, 2, 0, 1, DType::float32);
  const auto got = with_winners(sizes, true, x, dy);
  const auto wanted = with_maxima(sizes, x, dy);
  EXPECT_EQ(got[0], wanted[0]);
  for (std::int64_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(got[1].at(i), x.at(i) > 0 ? wanted[1].at(i) : 0) << i;
}

TEST_P(MaxPoolWinners, LetsTheFirstOfEqualValuesWinAndNoNan) {
  const simd::PoolingSizes sizes{{2, 2, 2, 1, 0}, {2, 2, 2, 1, 0}, 3};
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const auto inf = std::numeric_limits<float>::infinity();
  const auto x = Tensor::of<float>({2, 2, 3}, {1, 1, -inf,    //
                                               2, nan, -inf,  //
                                               2, 3, -inf,    //
                                               0, 4, -inf});
  const auto dy = Tensor::of<float>({1, 1, 3}, {10, 20, 30});
  const auto got = with_winners(sizes, false, x, dy);
  EXPECT_TRUE(std::isnan(got[0].at(1)));
  EXPECT_THAT(got[1].read<float>(), ElementsAre(0, 0, 30, 10, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(MaxPoolWinners, AddUpWhatReachesABias) {
  Graph g;
  const auto dy = constant(g, random_values({3, 7, 5, 6}, 1, 0, 1, DType::float32));
  auto winners = Tensor(DType::uint8, {3, 7, 5, 6});
  const auto places = winners.write<std::uint8_t>();
  std::vector<double> sums(6);
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = i % 5 == 0 ? simd::kNoWinner : static_cast<std::uint8_t>(i % 4);
    if (i % 5 != 0) sums[i % 6] += dy.node().attributes.get<Tensor>("value").at(i);
  }
  const auto db =
      run_graph(g.add("max_pool_winners_bias_grad", {dy, constant(g, winners)}).output(0));
  for (int c = 0; c < 6; ++c) EXPECT_NEAR(db.at(c), sums[c], 1e-4);
}

TEST(MaxPoolWinners, SayWhatDoesNotFit) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 40, 40, 3});
  const Attributes attributes{{"window", std::vector<std::int64_t>{16, 16}},
                              {"strides", std::vector<std::int64_t>{16, 16}},
                              {"padding", "SAME"},
                              {"relu", false}};
  EXPECT_EQ(message_of([&] { g.add("max_pool_winners", {x}, attributes); }),
            "node 'max_pool_winners' (max_pool_winners): window is [16, 16], but may have at most "
            "255 places; use max_pool");
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
