#include "troupe/actors/parameters/parameter_store.h"

#include <gtest/gtest.h>

#include <memory>

#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/actors/aggregation/policy_catalog.h"

namespace troupe {
namespace {

Tensor values(float start) {
  Tensor all(DType::float32, {3, 1000});
  for (auto& value : all.write<float>()) value = start *= -1.001f;
  return all;
}

ParameterStore store() {
  return ParameterStore("shard 0", {{"w", values(1), true}}, optim::momentum(0.9), 0.1);
}

std::vector<GradientSet> two_sets() {
  std::vector<GradientSet> sets(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    GradientPart part;
    part.replica = i;
    part.variable = "w";
    part.values = values(0.5f + static_cast<float>(i));
    sets[i].parts.push_back(part);
    sets[i].share = i == 0 ? 0.3 : 0.7;
  }
  return sets;
}

TensorList after_updates(const AggregationPolicy& policy) {
  auto updated = store();
  for (int i = 0; i < 3; ++i) updated.apply(two_sets(), policy, 1, serial());
  TensorList all;
  for (const auto& saved : updated.snapshot(0).tensors) all.push_back(saved.values);
  return all;
}

struct Derived : SyncPolicy {};

struct OnlyTheFirst : SyncPolicy {
  Tensor reduce(const TensorList& gradients, const std::vector<double>&, IntraOp&) const override {
    return gradients.at(0);
  }
};

TEST(ParameterStores, AddUpWhileTheyApplyWithTheBitsOfTheSum) {
  for (const auto* name : {"sync", "async", "ssp:2"}) {
    const auto policy = make_policy(name);
    ASSERT_TRUE(policy->adds_up()) << name;
    const auto in_one_pass = after_updates(*policy);
    const auto summed_before = after_updates(Derived());
    ASSERT_EQ(in_one_pass.size(), summed_before.size());
    for (std::size_t i = 0; i < in_one_pass.size(); ++i)
      EXPECT_TRUE(same_bits(in_one_pass[i], summed_before[i])) << name << ", tensor " << i;
  }
}

TEST(ParameterStores, BeginAnAverageThatACheckpointDoesNotHaveWithItsValues) {
  auto before = store();
  before.apply(two_sets(), serial());
  const auto saved = before.snapshot(0);
  auto after = ParameterStore("shard 0", {{"w", values(2), true}}, optim::momentum(0.9), 0.1, 0.99);
  after.restore(saved);
  int averages = 0;
  for (const auto& tensor : after.snapshot(0).tensors)
    if (tensor.slot == "average") {
      EXPECT_TRUE(same_bits(tensor.values, saved.tensors.at(0).values));
      ++averages;
    }
  EXPECT_EQ(averages, 1);
}

TEST(ParameterStores, HaveADerivedPolicyReduce) {
  ASSERT_FALSE(OnlyTheFirst().adds_up());
  auto first_alone = store();
  auto sets = two_sets();
  sets.pop_back();
  sets[0].share = 1;
  for (int i = 0; i < 3; ++i) first_alone.apply(sets, serial());
  EXPECT_TRUE(
      same_bits(after_updates(OnlyTheFirst()).at(0), first_alone.snapshot(0).tensors[0].values));
}

TEST(ParameterStores, LeaveTheGradientsThatTheyAddUpAsTheyWere) {
  auto updated = store();
  const auto sets = two_sets();
  updated.apply(sets, SyncPolicy(), 1, serial());
  EXPECT_TRUE(same_bits(sets[0].parts[0].values, values(0.5f)));
  EXPECT_TRUE(same_bits(sets[1].parts[0].values, values(1.5f)));
}

}  // namespace
}  // namespace troupe
