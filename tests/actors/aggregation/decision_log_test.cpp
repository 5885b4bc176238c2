#include "troupe/actors/aggregation/decision_log.h"

#include <gtest/gtest.h>

namespace troupe {
namespace {

class ADecisionLog : public ::testing::Test {
 protected:
  void decide(int count) {
    for (RoundDecision decision; count > 0; --count) log.add(decision);
  }
  std::vector<std::uint64_t> kept() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& entry : log.entries()) numbers.push_back(entry.decision.number);
    return numbers;
  }
  using Numbers = std::vector<std::uint64_t>;
  DecisionLog log;
};

TEST_F(ADecisionLog, KeepsWhatNotAllShardsHaveCarriedOut) {
  decide(4);
  log.set_factor(0.5);
  EXPECT_EQ(log.entries().back().factor, 0.5);
  log.carried_out(0, 3, 2);
  EXPECT_EQ(kept(), (Numbers{1, 2, 3, 4})) << "nothing is known of the other one";
  log.carried_out(1, 2, 2);
  EXPECT_EQ(kept(), (Numbers{3, 4}));
  log.carried_out(1, 1, 2);
  EXPECT_EQ(kept(), (Numbers{3, 4})) << "that is old news";
}

TEST_F(ADecisionLog, DoesNotWaitForAShardThatIsForgotten) {
  decide(3);
  log.carried_out(0, 1, 2);
  log.carried_out(1, 3, 2);
  EXPECT_EQ(kept(), (Numbers{2, 3}));
  log.forget(0);
  log.carried_out(1, 3, 1);
  EXPECT_EQ(kept(), Numbers{});
}

TEST_F(ADecisionLog, DoesNotGiveTheNumberOfADecisionThatWasTakenBackAgain) {
  decide(2);
  log.take_back();
  EXPECT_EQ(kept(), Numbers{1});
  decide(1);
  EXPECT_EQ(kept(), (Numbers{1, 3}));
  EXPECT_EQ(log.number(), 3u);
}

}  // namespace
}  // namespace troupe
