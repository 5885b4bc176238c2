#include "troupe/actors/training/batch_ledger.h"

#include <gmock/gmock.h>

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kApplied = SetFate::applied;
constexpr auto kStale = SetFate::stale;
constexpr auto kGivenUp = SetFate::given_up;
constexpr auto kSkipped = SetFate::skipped;

/// The books of replicas 0 and 1, of batches with two records each.
class ABatchLedger : public ::testing::Test {
 protected:
  void add(std::uint32_t replica, std::vector<std::uint64_t> sequences) {
    for (const auto sequence : sequences)
      ledger.add(replica, {sequence, {Tensor(DType::float32, {2})}});
  }
  std::vector<std::uint64_t> hand_out(std::uint32_t replica, int count = 100) {
    std::vector<std::uint64_t> sequences;
    while (count-- > 0) {
      const auto batch = ledger.hand_out(replica);
      if (!batch) break;
      sequences.push_back(batch->sequence);
    }
    return sequences;
  }
  std::vector<std::uint64_t> outstanding() const {
    std::vector<std::uint64_t> sequences;
    for (const auto& one : ledger.status().outstanding) sequences.push_back(one.batch.sequence);
    return sequences;
  }

  BatchLedger ledger;
};

TEST_F(ABatchLedger, KeepsWhatItHandsOutUntilItIsPartOfAnUpdate) {
  add(0, {4, 6, 8});
  EXPECT_THAT(hand_out(0, 2), ElementsAre(4, 6));
  EXPECT_THAT(outstanding(), ElementsAre(4, 6, 8));
  ledger.settle(Settlement{1, {{0, 4, 1, kApplied}}});
  EXPECT_THAT(outstanding(), ElementsAre(6, 8));
  EXPECT_EQ(ledger.status().trained, 2);
  EXPECT_EQ(ledger.status().version, 1u);
}

TEST_F(ABatchLedger, SharesItsTensors) {
  add(0, {1});
  EXPECT_EQ(ledger.hand_out(0)->components[0].data(),
            ledger.status().outstanding.at(0).batch.components[0].data());
}

TEST_F(ABatchLedger, SettlesAllBatchesOfASet) {
  add(1, {1, 3, 5, 7});
  hand_out(1);
  ledger.settle(Settlement{1, {{1, 1, 3, kApplied}}});
  EXPECT_THAT(outstanding(), ElementsAre(7));
  EXPECT_EQ(ledger.status().trained, 6);
}

TEST_F(ABatchLedger, LeavesARefusedSetToItsReplica) {
  add(0, {1, 2});
  hand_out(0);
  ledger.settle(Settlement{1, {{0, 1, 1, kStale}}});
  EXPECT_THAT(outstanding(), ElementsAre(1, 2));
  EXPECT_THAT(hand_out(0), IsEmpty());
  ledger.settle(Settlement{2, {{0, 1, 1, kApplied}}});
  EXPECT_EQ(ledger.status().trained, 2);
  EXPECT_EQ(ledger.status().repeated, 0);
}

TEST_F(ABatchLedger, CountsWhatWasLeftOut) {
  add(0, {1, 2});
  hand_out(0);
  ledger.settle(Settlement{1, {{0, 1, 1, kSkipped}}});
  EXPECT_THAT(outstanding(), ElementsAre(2));
  EXPECT_EQ(ledger.status().lost, 2);
}

TEST_F(ABatchLedger, GivesTheSuccessorWhatWasLostFirstAndInItsOrder) {
  add(0, {1, 2, 3, 4});
  hand_out(0, 3);
  ledger.settle(Settlement{1, {{0, 1, 1, kApplied}}});
  ledger.depart(0, {});
  EXPECT_EQ(ledger.status().repeated, 0);  // not yet
  EXPECT_THAT(hand_out(0), ElementsAre(2, 3, 4));
  EXPECT_EQ(ledger.status().repeated, 4);
}

TEST_F(ABatchLedger, WaitsForTheFateOfWholeSetsOfTheLost) {
  add(0, {1, 2, 3});
  hand_out(0);
  ledger.depart(0, {0, {{0, 1, 2}}});
  EXPECT_TRUE(ledger.undecided(0));
  EXPECT_FALSE(ledger.undecided(1));
  ledger.settle(Settlement{1, {{0, 1, 2, kApplied}}});
  EXPECT_FALSE(ledger.undecided(0));
  EXPECT_THAT(hand_out(0), ElementsAre(3));
  EXPECT_EQ(ledger.status().trained, 4);
  EXPECT_EQ(ledger.status().repeated, 2);
}

TEST_F(ABatchLedger, GivesTheSuccessorTheSetsOfTheLostThatAreRefused) {
  add(0, {1, 2, 3});
  hand_out(0);
  ledger.depart(0, {0, {{0, 1, 1}, {0, 2, 1}}});
  ledger.settle(Settlement{1, {{0, 1, 1, kGivenUp}, {0, 2, 1, kStale}}});
  EXPECT_THAT(hand_out(0), ElementsAre(1, 2, 3));
}

TEST_F(ABatchLedger, DoesNotTakeTheSetOfTheSuccessorForThatOfTheLost) {
  add(0, {1, 2});
  hand_out(0);
  ledger.depart(0, {});
  hand_out(0, 1);
  ledger.settle(
      Settlement{1, {{0, 1, 1, kGivenUp}}});  // what the lost one had not pushed everywhere
  EXPECT_THAT(hand_out(0), ElementsAre(2));
  EXPECT_THAT(outstanding(), ElementsAre(1, 2));
}

TEST_F(ABatchLedger, SurvivesSettlementsOfWhatItDoesNotKnow) {
  add(0, {1});
  hand_out(0);
  ledger.settle(Settlement{1, {{7, 1, 1, kApplied}, {0, 9, 1, kApplied}, {0, 1, 5, kApplied}}});
  ledger.depart(9, {0, {{9, 1, 1}}});
  ledger.depart(0, {0, {{0, 4, 2}}});
  EXPECT_THAT(outstanding(), IsEmpty());
  EXPECT_EQ(ledger.status().trained, 2);
}

TEST_F(ABatchLedger, ListsByReplicaAndInTheOrderInWhichTheyAreComputed) {
  ledger.add({9, {}});
  add(1, {1, 3});
  add(0, {0, 2});
  hand_out(1, 1);
  const auto status = ledger.status();
  EXPECT_THAT(outstanding(), ElementsAre(0, 2, 1, 3, 9));
  EXPECT_TRUE(status.outstanding.at(2).handed_out);
  EXPECT_FALSE(status.outstanding.at(3).handed_out);
  EXPECT_EQ(status.outstanding.at(4).replica, OutstandingBatch::kAnyReplica);
  EXPECT_EQ(ledger.left_by(1).outstanding.size(), 1u);
}

}  // namespace
}  // namespace troupe
