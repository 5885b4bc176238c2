#include "troupe/actors/aggregation/settling_sets.h"

#include <gtest/gtest.h>

#include "support/message_of.h"

namespace troupe {
namespace {

TEST(SettlingSets, AreSettledWhenAllGroupsHaveDecided) {
  SettlingSets sets;
  const SettledSet a{1, 10, 2}, b{2, 10, 1, SetFate::stale};
  EXPECT_TRUE(sets.add({a, b}, 3).empty());
  EXPECT_TRUE(sets.add({b}, 3).empty());
  const auto settled = sets.add({a, b}, 3);
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].replica, 2u);
  EXPECT_EQ(settled[0].fate, SetFate::stale);
  EXPECT_FALSE(sets.has(2));
  EXPECT_TRUE(sets.has(1));
  EXPECT_EQ(sets.add({a}, 3).size(), 1u);
  EXPECT_TRUE(sets.empty());
  EXPECT_EQ(sets.add({a, b}, 1).size(), 2u) << "of one group all are settled at once";
}

TEST(SettlingSets, RefuseGroupsThatDoNotAgree) {
  SettlingSets sets;
  (void)sets.add({{1, 10, 2}}, 2);
  EXPECT_EQ(test::message_of([&] {
              (void)sets.add({{1, 10, 2, SetFate::stale}}, 2);
            }),
            "groups of variables do not agree on a set of replica 1");
}

}  // namespace
}  // namespace troupe
