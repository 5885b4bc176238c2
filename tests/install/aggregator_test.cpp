#include <gtest/gtest.h>
#include <troupe/testing/aggregator_contract.h>

#include "median_policy.h"

std::string registered(const std::string& policy) {
  static const bool once = (register_median(), true);
  (void)once;
  return policy;
}

TROUPE_AGGREGATOR_CONTRACT(Median, registered("median"));
TROUPE_AGGREGATOR_CONTRACT(TrimmedMean, registered("median:trim=1"));

TEST(Median, IsNotMovedByOneGradientThatIsFarOff) {
  const auto policy = troupe::make_policy(registered("median"));
  const auto gradient = [](float value) { return troupe::Tensor::of<float>({1}, {value}); };
  const auto median =
      policy->reduce({gradient(1), gradient(1000), gradient(2)}, {0.3, 0.3, 0.4}, troupe::serial());
  EXPECT_EQ(median.item(), 2);
}
