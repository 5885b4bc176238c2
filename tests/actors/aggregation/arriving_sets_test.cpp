#include "troupe/actors/aggregation/arriving_sets.h"

#include <gtest/gtest.h>

namespace troupe {
namespace {

SetReport report(std::uint32_t shard, std::uint64_t step, const std::string& not_finite = {}) {
  SetReport r;
  r.shard = shard;
  r.commit.replica = 7;
  r.commit.step = step;
  r.commit.version = 10 + step;
  r.not_finite = not_finite;
  return r;
}

TEST(ArrivingSets, AreWholeOnceAllShardsHaveTheirPart) {
  ArrivingSets sets;
  EXPECT_FALSE(sets.add(report(2, 1), 0, 3));
  EXPECT_FALSE(sets.add(report(2, 1), 0, 3)) << "told again";
  EXPECT_FALSE(sets.add(report(0, 1), 1, 3));
  const auto whole = sets.add(report(1, 1), 1, 3);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->worst.commit.step, 1u);
  EXPECT_EQ(whole->versions, (std::map<std::uint32_t, Version>{{0, 11}, {1, 11}}));
  EXPECT_FALSE(sets.add(report(0, 1), 1, 3)) << "it was whole before";
  EXPECT_FALSE(sets.add(report(1, 2), 0, 2));
  EXPECT_TRUE(sets.add(report(0, 2), 0, 2));
}

TEST(ArrivingSets, HaveTheComplaintOfTheFirstShardThatComplains) {
  for (const std::vector<std::uint32_t>& order :
       {std::vector{0U, 1U, 2U}, {2U, 1U, 0U}, {1U, 2U, 0U}}) {
    ArrivingSets sets;
    std::optional<ArrivingSets::Whole> whole;
    for (const auto shard : order)
      whole = sets.add(report(shard, 1, shard == 0 ? "" : text("kernel ", shard)), 0, 3);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->worst.not_finite, "kernel 1");
  }
}

TEST(ArrivingSets, ForgetAReplicaAndCountTheStepsOfItsSuccessorAnew) {
  ArrivingSets sets;
  EXPECT_TRUE(sets.add(report(0, 4), 0, 1));
  EXPECT_FALSE(sets.add(report(0, 5), 0, 2));
  const auto lost = sets.forget(7);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].step, 5u);
  EXPECT_TRUE(sets.forget(7).empty());
  EXPECT_FALSE(sets.add(report(1, 1), 0, 2));
  EXPECT_TRUE(sets.add(report(0, 1), 0, 2));
}

}  // namespace
}  // namespace troupe
