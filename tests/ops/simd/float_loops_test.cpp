#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "troupe/ops/random.h"
#include "troupe/ops/simd/elementwise.h"
#include "troupe/ops/simd/isa.h"
#include "troupe/ops/simd/random.h"
#include "troupe/ops/simd/reduce.h"

namespace troupe::simd {
namespace {

/// The tables of the levels that this processor can run.
template <class Table>
std::vector<const Table*> runnable(const Table& v2, const Table& v3, const Table& v4) {
  std::vector<const Table*> tables{&v2};
  if (best_isa() >= Isa::v3) tables.push_back(&v3);
  if (best_isa() >= Isa::v4) tables.push_back(&v4);
  return tables;
}

const auto kElementwise = runnable(v2::elementwise, v3::elementwise, v4::elementwise);
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> evaluate(UnaryLoop loop, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  loop(x.data(), y.data(), static_cast<std::int64_t>(x.size()), 0, 0);
  return y;
}

/// In units in the last place of the wanted value.
double distance(float got, double wanted) {
  const auto rounded = static_cast<float>(wanted);
  if (got == rounded || (std::isnan(got) && std::isnan(rounded))) return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded)) return HUGE_VAL;
  const auto magnitude = std::abs(rounded);
  return std::abs(got - wanted) / (std::nextafter(magnitude, kInf) - magnitude);
}

struct Function {
  const char* name;
  UnaryLoop Elementwise::*loop;
  double (*exact)(double);
  float low, high;              ///< where values are drawn from
  std::vector<float> specials;  ///< of 0, -0, inf, -inf, NaN
};

std::ostream& operator<<(std::ostream& out, const Function& function) {
  return out << function.name;
}

class FloatLoop : public testing::TestWithParam<Function> {};

INSTANTIATE_TEST_SUITE_P(
    Of, FloatLoop,
    testing::Values(Function{"exp",
                             &Elementwise::exp,
                             [](double x) { return std::exp(x); },
                             -110,
                             95,
                             {1, 1, kInf, 0, kNaN}},
                    Function{"log",
                             &Elementwise::log,
                             [](double x) { return std::log(x); },
                             0,
                             4,
                             {-kInf, -kInf, kInf, kNaN, kNaN}},
                    Function{"log1p",
                             &Elementwise::log1p,
                             [](double x) { return std::log1p(x); },
                             -1,
                             4,
                             {0, 0, kInf, kNaN, kNaN}},
                    Function{"tanh",
                             &Elementwise::tanh,
                             [](double x) { return std::tanh(x); },
                             -12,
                             12,
                             {0, 0, 1, -1, kNaN}},
                    Function{"sigmoid",
                             &Elementwise::sigmoid,
                             [](double x) {
                               return x < 0 ? std::exp(x) / (1 + std::exp(x))
                                            : 1 / (1 + std::exp(-x));
                             },
                             -100,
                             30,
                             {0.5, 0.5, 1, 0, kNaN}},
                    Function{"softplus",
                             &Elementwise::softplus,
                             [](double x) {
                               return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
                             },
                             -80,
                             80,
                             {0.6931472f, 0.6931472f, kInf, 0, kNaN}},
                    Function{"elu",
                             &Elementwise::elu,
                             [](double x) { return x < 0 ? std::expm1(x) : x; },
                             -25,
                             3,
                             {0, 0, kInf, -1, kNaN}},
                    Function{"sqrt",
                             &Elementwise::sqrt,
                             [](double x) { return std::sqrt(x); },
                             0,
                             9,
                             {0, 0, kInf, kNaN, kNaN}},
                    Function{"rsqrt",
                             &Elementwise::rsqrt,
                             [](double x) { return 1 / std::sqrt(x); },
                             0,
                             9,
                             {kInf, -kInf, 0, kNaN, kNaN}},
                    Function{"softsign",
                             &Elementwise::softsign,
                             [](double x) { return x / (1 + std::abs(x)); },
                             -5,
                             5,
                             {0, 0, kNaN, kNaN, kNaN}},
                    Function{"round",
                             &Elementwise::round,
                             [](double x) { return std::nearbyint(x); },
                             -4,
                             4,
                             {0, 0, kInf, -kInf, kNaN}},
                    Function{"floor",
                             &Elementwise::floor,
                             [](double x) { return std::floor(x); },
                             -4,
                             4,
                             {0, 0, kInf, -kInf, kNaN}},
                    Function{"ceil",
                             &Elementwise::ceil,
                             [](double x) { return std::ceil(x); },
                             -4,
                             4,
                             {0, 0, kInf, -kInf, kNaN}},
                    Function{"relu",
                             &Elementwise::relu,
                             [](double x) { return std::max(x, 0.0); },
                             -4,
                             4,
                             {0, 0, kInf, 0, kNaN}},
                    Function{"sign",
                             &Elementwise::sign,
                             [](double x) { return double((x > 0) - (x < 0)); },
                             -4,
                             4,
                             {0, 0, 1, -1, kNaN}}),
    [](auto& info) { return info.param.name; });

TEST_P(FloatLoop, IsWithinFourUnitsInTheLastPlace) {
  const auto& f = GetParam();
  RandomStream random(1);
  std::vector<float> x;
  for (int i = 0; i < 200'000; ++i)
    x.push_back(f.low + (f.high - f.low) * static_cast<float>(random.uniform()));
  for (int exponent = -149; exponent < 3; ++exponent)  // denormals too
    for (const float sign : {1.f, -1.f})
      if (sign > 0 || f.low < 0)
        x.push_back(sign * std::ldexp(1 + static_cast<float>(random.uniform()) / 2, exponent));
  for (const auto* table : kElementwise) {
    const auto y = evaluate(table->*f.loop, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(distance(y[i], f.exact(x[i])), 4) << f.name << "(" << x[i] << ") = " << y[i];
  }
}

TEST_P(FloatLoop, TreatsZerosInfinitiesAndNaNAsTheFunctionDoes) {
  const auto& f = GetParam();
  const std::vector<float> x{0.f, -0.f, kInf, -kInf, kNaN};
  for (const auto* table : kElementwise) {
    const auto y = evaluate(table->*f.loop, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(distance(y[i], f.specials[i]), 1) << f.name << "(" << x[i] << ") = " << y[i];
  }
}

TEST_P(FloatLoop, GivesAValueTheSameBitsWhereverItStands) {
  // Vector code, its remainder and the code for short arrays must agree: threads
  // cut arrays anywhere.
  const auto& f = GetParam();
  RandomStream random(2);
  std::vector<float> x(257);
  for (auto& value : x) value = f.low + (f.high - f.low) * static_cast<float>(random.uniform());
  for (const auto* table : kElementwise) {
    const auto whole = evaluate(table->*f.loop, x);
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(std::memcmp(&whole[i], &evaluate(table->*f.loop, {x[i]})[0], sizeof(float)), 0)
          << f.name << "(" << x[i] << ")";
  }
}

TEST(FloatSum, IsTheSameOnEveryLevel) {
  RandomStream random(3);
  std::vector<float> x(10'007);
  for (auto& value : x) value = static_cast<float>(random.normal());
  std::vector<double> sums;
  for (const auto* table : runnable(v2::reduce_float, v3::reduce_float, v4::reduce_float)) {
    double sum;
    table->sum.start(&sum, 1);
    table->sum.row(x.data(), static_cast<std::int64_t>(x.size()), &sum);
    sums.push_back(sum);
  }
  EXPECT_THAT(sums, testing::Each(sums[0]));
}

TEST(RandomWords, AreThoseOfPhiloxOnEveryLevel) {
  const std::uint64_t seed = 0x123456789ABCDEFu;
  const std::uint64_t first = 0xFFFFFFF;  // so that the counter passes 2^32
  const Philox philox(seed);
  for (const auto* table : runnable(v2::random_loops, v3::random_loops, v4::random_loops)) {
    std::uint32_t words[3 * kRandomChunk];
    table->words(seed, first, 3, words);
    for (std::uint64_t i = 0; i < 3 * kRandomChunk; ++i) {
      const auto at = first * kRandomChunk + i;
      ASSERT_EQ(words[i], philox(16 * (at / 64) + at % 16)[at % 64 / 16]) << i;
    }
  }
}

}  // namespace
}  // namespace troupe::simd
