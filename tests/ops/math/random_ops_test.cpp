#include "troupe/ops/random_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "support/check_gradient.h"
#include "support/message_of.h"
#include "support/threads.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/reductions.h"

namespace troupe::test {
namespace {

struct Moments {
  double mean = 0;
  double stddev = 0;
  double lowest = 0;
  double highest = 0;
};

Moments moments(const Tensor& values) {
  const auto n = values.size();
  Moments m{0, 0, values.at(0), values.at(0)};
  for (std::int64_t i = 0; i < n; ++i) {
    m.mean += values.at(i) / double(n);
    m.lowest = std::min(m.lowest, values.at(i));
    m.highest = std::max(m.highest, values.at(i));
  }
  for (std::int64_t i = 0; i < n; ++i) m.stddev += std::pow(values.at(i) - m.mean, 2) / double(n);
  m.stddev = std::sqrt(m.stddev);
  return m;
}

// Bounds are five standard errors for 100,000 values; seeds are fixed.
constexpr std::int64_t kMany = 100'000;

class RandomValues : public testing::TestWithParam<DType> {
 protected:
  RandomOptions options() const { return {.dtype = GetParam()}; }
  Graph g;
};
INSTANTIATE_TEST_SUITE_P(Of, RandomValues, testing::Values(DType::float32, DType::float64),
                         [](auto& info) { return std::string(to_string(info.param)); });

TEST_P(RandomValues, AreUniformBetweenTheBounds) {
  const auto m = moments(run_graph(random_uniform(g, {kMany}, -2, 4, options())));
  EXPECT_NEAR(m.mean, 1, 0.028);
  EXPECT_NEAR(m.stddev, std::sqrt(3), 0.02);
  EXPECT_GE(m.lowest, -2);
  EXPECT_LT(m.highest, 4);
  EXPECT_LT(m.lowest, -1.99);
  EXPECT_GT(m.highest, 3.99);
}

TEST_P(RandomValues, AreNormal) {
  const auto values = run_graph(random_normal(g, {kMany}, 3, 2, options()));
  const auto m = moments(values);
  EXPECT_NEAR(m.mean, 3, 0.032);
  EXPECT_NEAR(m.stddev, 2, 0.023);
  int beyond = 0;
  for (std::int64_t i = 0; i < kMany; ++i) beyond += std::abs(values.at(i) - 3) > 4;
  EXPECT_NEAR(beyond / double(kMany), 0.0455, 0.0033) << "two standard deviations";
}

TEST_P(RandomValues, OfATruncatedNormalStayWithinTwoStandardDeviations) {
  const auto m = moments(run_graph(truncated_normal(g, {kMany}, 3, 2, options())));
  EXPECT_NEAR(m.mean, 3, 0.03);
  EXPECT_NEAR(m.stddev, 2 * 0.8796, 0.02);
  EXPECT_GE(m.lowest, -1);
  EXPECT_LE(m.highest, 7);
}

TEST_P(RandomValues, DependOnNameAndSeedsAlone) {
  const Shape shape{kMany + 13};
  using Draw = std::function<Output(Graph&, const RandomOptions&)>;
  const std::vector<Draw> all{
      [&](auto& graph, auto& o) { return random_uniform(graph, shape, 0, 1, o); },
      [&](auto& graph, auto& o) { return random_normal(graph, shape, 0, 1, o); },
      [&](auto& graph, auto& o) { return truncated_normal(graph, shape, 0, 1, o); }};
  for (const auto& draw : all) {
    Graph same;
    const auto first = run_graph(draw(g, options()), {}, 7);
    EXPECT_TRUE(same_bits(first, run_graph(draw(same, options()), {}, 7)));
    Graph threaded;
    Threads threads(3);
    EXPECT_TRUE(same_bits(first, run_graph(draw(threaded, options()), {}, 7, threads)));

    Graph another_run;
    EXPECT_FALSE(same_bits(first, run_graph(draw(another_run, options()), {}, 8)));
    Graph another_name;
    const NameScope scope(another_name, "elsewhere");
    EXPECT_FALSE(same_bits(first, run_graph(draw(another_name, options()), {}, 7)));
    Graph another_seed;
    auto seeded = options();
    seeded.seed = 1;
    EXPECT_FALSE(same_bits(first, run_graph(draw(another_seed, seeded), {}, 7)));
  }
}

TEST(RandomUniformInt, TakesEveryValueEquallyOften) {
  Graph g;
  const auto values = run_graph(random_uniform_int(g, {70'000}, -3, 4));
  for (int wanted = -3; wanted < 4; ++wanted)
    EXPECT_NEAR(std::ranges::count(values.read<std::int64_t>(), wanted), 10'000, 500) << wanted;
}

TEST(RandomUniformInt, ReachesTheEndsOfItsType) {
  Graph g;
  const auto wide = random_uniform_int(g, {1000}, INT64_MIN, INT64_MAX);
  const auto m = moments(run_graph(wide));
  EXPECT_LT(m.lowest, -9e18);
  EXPECT_GT(m.highest, 9e18);
  const auto narrow =
      random_uniform_int(g, {1}, INT32_MAX, std::int64_t{INT32_MAX} + 1, {.dtype = DType::int32});
  EXPECT_EQ(run_graph(narrow).item(), INT32_MAX);
}

TEST(RandomOps, RefuseBoundsThatHoldNothing) {
  Graph g;
  EXPECT_EQ(message_of([&] { random_uniform(g, {2}, 1, 1); }),
            "node 'random_uniform' (random_uniform): low is 1 and high is 1, but low must be below "
            "high");
  EXPECT_EQ(message_of([&] { random_uniform_int(g, {2}, 0, 1ll << 40, {.dtype = DType::int32}); }),
            "node 'random_uniform_int' (random_uniform_int): [0, 1099511627776) does not fit "
            "int32");
  EXPECT_EQ(message_of([&] { random_normal(g, {2}, 0, -1); }),
            "node 'random_normal' (random_normal): stddev is -1, but must be at least 0");
  EXPECT_EQ(message_of([&] {
              random_normal(g, {-1, 2});
            }),
            "node 'random_normal' (random_normal): shape is [?, 2], but all extents must be known");
  EXPECT_EQ(message_of([&] { random_uniform(g, {2}, 0, 1, {.dtype = DType::int32}); }),
            "node 'random_uniform' (random_uniform): dtype is int32, but must be float32 or "
            "float64");
}

class Dropout : public testing::TestWithParam<DType> {
 protected:
  Tensor ones(const Shape& shape) const { return Tensor::filled(GetParam(), shape, 1); }
  Graph g;
};
INSTANTIATE_TEST_SUITE_P(Of, Dropout, testing::Values(DType::float32, DType::float64),
                         [](auto& info) { return std::string(to_string(info.param)); });

TEST_P(Dropout, DropsTheShareAskedForAndScalesTheRest) {
  for (const double rate : {0.0, 0.25, 0.9}) {
    const auto y = run_graph(dropout(constant(g, ones({kMany})), rate), {}, 3);
    std::int64_t dropped = 0;
    for (std::int64_t i = 0; i < kMany; ++i) {
      if (y.at(i) == 0)
        ++dropped;
      else
        ASSERT_NEAR(y.at(i), 1 / (1 - rate), 1e-6);
    }
    EXPECT_NEAR(dropped / double(kMany), rate, 5 * std::sqrt(rate * (1 - rate) / kMany));
  }
}

TEST_P(Dropout, LetsTheGradientThroughWhereItKept) {
  const auto x = constant(g, ones({1000}));
  const auto y = dropout(x, 0.4);
  const auto dx = gradients(reduce_sum(y), {x})[0].dense();
  const auto values = run_graph(OutputList{y, dx}, {}, 5);
  EXPECT_EQ(values[0], values[1]);
}

TEST_P(Dropout, DropsTheSameWithAnyNumberOfThreadsAndOtherValuesInAnotherRun) {
  const auto y = dropout(constant(g, ones({kMany + 7})), 0.5);
  Threads threads(3);
  EXPECT_TRUE(same_bits(run_graph(y, {}, 1), run_graph(y, {}, 1, threads)));
  EXPECT_FALSE(same_bits(run_graph(y, {}, 1), run_graph(y, {}, 2)));
}

TEST(DropoutOp, HasTheGradientThatFiniteDifferencesMeasure) {
  check_gradient([](auto& x) { return dropout(x[0], 0.3); }, {random_values({5, 7}, 1)},
                 {.declared = {{-1, 7}}, .seed = 11});
}

TEST(DropoutOp, RefusesToDropEverything) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {2});
  EXPECT_EQ(message_of([&] { dropout(x, 1); }),
            "node 'dropout' (dropout): rate is 1, but must be in [0, 1)");
}

}  // namespace
}  // namespace troupe::test
