#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/isa_levels.h"
#include "troupe/ops/random.h"
#include "troupe/ops/simd/softmax_kernels.h"

namespace troupe::simd {
namespace {

std::vector<float> random_row(std::int64_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> row(static_cast<std::size_t>(count));
  for (auto& value : row) value = static_cast<float>(5 * random.normal());
  return row;
}

/// The functions of one level.
class SoftmaxRows : public testing::TestWithParam<Isa> {
 protected:
  float exponentials(const std::vector<float>& x, float* to, float* greatest) const {
    return pick(v2::exponentials<float>, v3::exponentials<float>, v4::exponentials<float>,
                GetParam())(x.data(), size(x), to, greatest);
  }
  void softmax(const std::vector<float>& x, float* to) const {
    pick(v2::softmax_row<float>, v3::softmax_row<float>, v4::softmax_row<float>, GetParam())(
        x.data(), size(x), to);
  }
  void log_softmax(const std::vector<float>& x, float* to) const {
    pick(v2::log_softmax_row<float>, v3::log_softmax_row<float>, v4::log_softmax_row<float>,
         GetParam())(x.data(), size(x), to);
  }
  static std::int64_t size(const std::vector<float>& x) {
    return static_cast<std::int64_t>(x.size());
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, SoftmaxRows, testing::ValuesIn(test::isa_levels()), test::isa_name);

TEST_P(SoftmaxRows, AreThoseOfTheDefinitionForAnyNumberOfClasses) {
  for (const int count : {1, 2, 10, 15, 16, 17, 33, 1000}) {
    const auto x = random_row(count, static_cast<std::uint64_t>(count));
    double sum = 0;
    for (const auto value : x) sum += std::exp(static_cast<double>(value));
    std::vector<float> y(x.size() + 1, -7), logs(x.size() + 1, -7);
    softmax(x, y.data());
    log_softmax(x, logs.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto wanted = std::exp(static_cast<double>(x[i])) / sum;
      ASSERT_NEAR(y[i], wanted, 3e-6 * wanted) << count;
      ASSERT_NEAR(logs[i], std::log(wanted), 4e-6 * std::max(1.0, -std::log(wanted))) << count;
    }
    EXPECT_EQ(y.back(), -7) << "nothing is written behind the row";
    EXPECT_EQ(logs.back(), -7);
  }
}

TEST_P(SoftmaxRows, MayBeWrittenOverWhatIsRead) {
  auto x = random_row(37, 1);
  std::vector<float> y(x.size());
  softmax(x, y.data());
  softmax(x, x.data());
  EXPECT_EQ(x, y);
}

TEST_P(SoftmaxRows, AddUpWithoutWriting) {
  const auto x = random_row(50, 2);
  std::vector<float> terms(x.size());
  float greatest = 0, same = 0;
  EXPECT_EQ(exponentials(x, terms.data(), &greatest), exponentials(x, nullptr, &same));
  EXPECT_EQ(greatest, *std::max_element(x.begin(), x.end()));
  EXPECT_EQ(same, greatest);
}

TEST_P(SoftmaxRows, DoNotOverflowAndShowANan) {
  const auto inf = std::numeric_limits<float>::infinity();
  std::vector<float> y(3);
  softmax({1000, 1000, -inf}, y.data());
  EXPECT_EQ(y, (std::vector<float>{0.5, 0.5, 0}));
  softmax({1, NAN, 2}, y.data());
  for (const auto value : y) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace troupe::simd
