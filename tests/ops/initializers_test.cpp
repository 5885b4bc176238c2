#include "troupe/ops/initializers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/message_of.h"

namespace troupe::test {
namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
  double smallest = 0;
  double largest = 0;
};

Moments moments_of(const Initializer& initializer, const Shape& shape) {
  const auto values = evaluate(initializer, DType::float64, shape, "w", 3);
  const auto all = values.read<double>();
  Moments m;
  m.smallest = *std::ranges::min_element(all);
  m.largest = *std::ranges::max_element(all);
  for (const auto value : all) m.mean += value / static_cast<double>(all.size());
  for (const auto value : all)
    m.deviation += (value - m.mean) * (value - m.mean) / static_cast<double>(all.size());
  m.deviation = std::sqrt(m.deviation);
  return m;
}

// 90,000 values: standard errors are below 0.4 % of the deviation; 2 % is more than five of them.
constexpr double kNear = 0.02;
const Shape kMatrix{300, 300};
const Shape kFilter{5, 6, 20, 150};  // 90,000 values; fan in 30 * 20, fan out 30 * 150

// What is left of the deviation of a normal distribution that is cut off at two deviations.
constexpr double kTruncated = 0.8796256610342398;

TEST(Initializer, FillsWithAConstant) {
  EXPECT_EQ(evaluate(init::zeros(), DType::float32, {2}, "b", 1), Tensor(DType::float32, {2}));
  EXPECT_EQ(evaluate(init::ones(), DType::int32, {2}, "b", 1),
            Tensor::of<std::int32_t>({2}, {1, 1}));
  EXPECT_EQ(evaluate(init::constant(0.1), DType::float32, {}, "b", 1), Tensor::scalar(0.1f));
}

TEST(Initializer, TakesValuesOfTheVariablesShapeOnly) {
  const auto given = Tensor::of<float>({2}, {1, 2});
  EXPECT_EQ(evaluate(init::value(given), DType::float32, {2}, "b", 1), given);
  EXPECT_EQ(message_of([&] { evaluate(init::value(given), DType::float32, {3}, "b", 1); }),
            "variable 'b' is float32 [3], but its initial value is float32 [2]");
  EXPECT_EQ(message_of([&] {
              evaluate({"xavier", 0, 0, {}}, DType::float32, {3}, "b", 1);
            }),
            "variable 'b': no initializer is called 'xavier'");
}

TEST(Initializer, DrawsUniformlyBetweenItsBounds) {
  const auto m = moments_of(init::uniform(-1, 3), kMatrix);
  EXPECT_GE(m.smallest, -1);
  EXPECT_LT(m.largest, 3);
  EXPECT_NEAR(m.mean, 1, kNear);
  EXPECT_NEAR(m.deviation, 4 / std::sqrt(12), kNear);
}

TEST(Initializer, DrawsNormalNumbersWithTails) {
  const auto m = moments_of(init::normal(1, 0.5), kMatrix);
  EXPECT_NEAR(m.mean, 1, kNear);
  EXPECT_NEAR(m.deviation, 0.5, 0.5 * kNear);
  EXPECT_GT(m.largest, 1 + 3 * 0.5);
}

TEST(Initializer, CutsATruncatedNormalAtTwoDeviations) {
  const auto m = moments_of(init::truncated_normal(1, 0.5), kMatrix);
  EXPECT_GE(m.smallest, 0);
  EXPECT_LE(m.largest, 2);
  EXPECT_GT(m.largest, 1.95) << "up to the cut all are drawn";
  EXPECT_NEAR(m.mean, 1, kNear);
  EXPECT_NEAR(m.deviation, 0.5 * kTruncated, 0.5 * kNear);
}

struct Scaled {
  const char* name;
  Initializer initializer;
  bool normal;
  double fans;  // of kFilter
};

class ScaledInitializer : public testing::TestWithParam<Scaled> {};

TEST_P(ScaledInitializer, HasTheVarianceThatItsFansCallFor) {
  const auto& [name, initializer, normal, fans] = GetParam();
  // Uniform in +-sqrt(6 / fans) has variance 2 / fans; TensorFlow's factor of 1.3 makes up for
  // most of what the truncation takes away.
  const double wanted = normal ? std::sqrt(1.3 * 2 / fans) * kTruncated : std::sqrt(2 / fans);
  const double bound = normal ? 2 * std::sqrt(1.3 * 2 / fans) : std::sqrt(6 / fans);
  const auto m = moments_of(initializer, kFilter);
  EXPECT_NEAR(m.deviation, wanted, wanted * kNear);
  EXPECT_NEAR(m.mean, 0, wanted * kNear);
  EXPECT_LE(m.largest, bound);
  EXPECT_GE(m.smallest, -bound);
  EXPECT_GT(m.largest, 0.95 * bound);
}

INSTANTIATE_TEST_SUITE_P(
    OfFilters, ScaledInitializer,
    testing::Values(Scaled{"xavier_uniform", init::xavier_uniform(), false, 600 + 4500},
                    Scaled{"xavier_normal", init::xavier_normal(), true, 600 + 4500},
                    Scaled{"he_uniform", init::he_uniform(), false, 600},
                    Scaled{"he_normal", init::he_normal(), true, 600}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Initializer, DependsOnSeedAndNameAndOnNothingElse) {
  const auto draw = [](const char* name, std::uint64_t seed) {
    return evaluate(init::xavier_normal(), DType::float32, {50, 3}, name, seed);
  };
  EXPECT_TRUE(same_bits(draw("w", 1), draw("w", 1)));
  EXPECT_FALSE(same_bits(draw("w", 1), draw("w", 2)));
  EXPECT_FALSE(same_bits(draw("w", 1), draw("v", 1)));
}

TEST(Initializer, RoundsTheSameNumbersToEveryDtype) {
  const auto wide = evaluate(init::normal(0, 1), DType::float64, {100}, "w", 1);
  EXPECT_TRUE(same_bits(evaluate(init::normal(0, 1), DType::float32, {100}, "w", 1),
                        wide.cast(DType::float32)));
}

TEST(Initializer, FillsScalarsVectorsAndNothing) {
  for (const auto& initializer : {init::xavier_uniform(), init::he_normal()}) {
    EXPECT_TRUE(std::isfinite(evaluate(initializer, DType::float32, {}, "w", 1).item()));
    EXPECT_EQ(evaluate(initializer, DType::float32, {0, 3}, "w", 1).size(), 0);
    EXPECT_EQ(evaluate(initializer, DType::float32, {4}, "w", 1).size(), 4);
  }
}

}  // namespace
}  // namespace troupe::test
