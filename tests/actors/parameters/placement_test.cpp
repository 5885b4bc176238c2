#include "troupe/actors/parameters/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "support/message_of.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Placement : public ::testing::Test {
 protected:
  Placement() {
    for (const auto& [name, rows] : {std::pair{"a", 10}, {"b", 100}, {"c", 20}, {"d", 70}})
      variable(graph, name, {rows, 4}, init::zeros());
  }
  std::vector<std::uint32_t> placed(const VariablePlacement& rule, std::uint32_t shards) {
    return place_variables(graph.variables(), shards, rule);
  }

  Graph graph;
};

TEST_F(Placement, GoesRoundOrByBytes) {
  EXPECT_THAT(placed(VariablePlacement::round_robin, 3), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(placed(VariablePlacement::by_bytes, 2), ElementsAre(1, 0, 1, 1));
}

TEST_F(Placement, AsksAFunction) {
  const VariablePlacement last(
      [](const Variable& v, std::uint32_t shards) { return v.name() == "b" ? shards - 1 : 0; });
  EXPECT_EQ(last.name(), "function");
  EXPECT_THAT(placed(last, 3), ElementsAre(0, 2, 0, 0));
}

TEST_F(Placement, SaysWhatIsWrongWithWhatAFunctionAnswers) {
  const VariablePlacement wrong([](const Variable&, std::uint32_t shards) { return shards; });
  EXPECT_EQ(
      test::message_of([&] { placed(wrong, 2); }),
      "placement of variable 'a': the function says shard 2, but there are 2, counted from 0");
  const VariablePlacement throwing(
      [](const Variable&, std::uint32_t) -> std::uint32_t { throw std::runtime_error("no idea"); });
  EXPECT_EQ(test::message_of([&] { placed(throwing, 2); }), "placement of variable 'a': no idea");
  EXPECT_THAT(test::message_of([&] { placed(VariablePlacement::by_bytes, 0); }),
              HasSubstr("at least 1 shard"));
}

TEST_F(Placement, CutsLargeVariablesByRows) {
  // Of 1600 bytes b has; parts of at most 640 are three, but there are two shards.
  for (const std::uint32_t shards : {2u, 5u}) {
    std::int64_t next = 0;
    std::vector<bool> used(shards);
    for (const auto& part :
         place_rows(graph.variables(), shards, VariablePlacement::by_bytes, 640)) {
      if (part.variable != 1) {
        EXPECT_TRUE(part.whole || part.variable == 3);
        continue;
      }
      EXPECT_FALSE(part.whole);
      EXPECT_EQ(part.first_row, next);
      EXPECT_FALSE(used.at(part.shard));
      used[part.shard] = true;
      next += part.rows;
    }
    EXPECT_EQ(next, 100);
    EXPECT_EQ(std::count(used.begin(), used.end(), true), std::min(shards, 3u));
  }
}

}  // namespace
}  // namespace troupe
