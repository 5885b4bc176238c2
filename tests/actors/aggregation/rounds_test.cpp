#include "troupe/actors/aggregation/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/message_of.h"
#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/actors/aggregation/policy_catalog.h"

namespace troupe {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// What all decisions so far came to.
struct Decided {
  std::vector<std::uint32_t> members, refused, released;
  std::vector<double> shares;
  std::vector<std::uint64_t> staleness;
  Instructions next;
};

/// Replicas that join, push and leave when the test says so.
class ARun : public ::testing::Test {
 protected:
  void begin(const std::string& policy, std::size_t replicas, RoundsOptions o = {}) {
    o.policy = policy;
    o.replicas = replicas;
    rounds.emplace(o);
    for (std::uint32_t i = 0; i < replicas; ++i) rounds->join(i);
    settle();
  }
  Decided settle() {
    Decided all;
    while (const auto decision = rounds->next()) {
      for (const auto& m : decision->members) {
        all.members.push_back(m.replica);
        all.shares.push_back(m.share);
        all.staleness.push_back(m.staleness);
      }
      for (const auto& r : decision->refused) all.refused.push_back(r.replica);
      for (const auto r : decision->released) {
        all.released.push_back(r);
        from[r] = rounds->version();
      }
      all.next = decision->next;
    }
    return all;
  }
  /// The replica has a set, computed from the parameters that it was released with.
  Decided push(std::uint32_t replica, double weight = 1) {
    rounds->add({replica, ++steps[replica], from[replica], weight, order++});
    return settle();
  }

  std::optional<Rounds> rounds;
  std::map<std::uint32_t, Version> from;
  std::map<std::uint32_t, std::uint64_t> steps;
  std::uint64_t order = 0;
};

// ---- sync ------------------------------------------------------------------------------------

class SyncRounds : public ARun {};

TEST_F(SyncRounds, ConsistOfOneSetOfEachReplica) {
  begin("sync", 3);
  EXPECT_THAT(push(2).members, IsEmpty());
  EXPECT_THAT(push(0).members, IsEmpty());
  const auto round = push(1);
  EXPECT_THAT(round.members, ElementsAre(2, 0, 1));
  EXPECT_THAT(round.released, ElementsAre(0, 1, 2));
  EXPECT_EQ(rounds->version(), 1u);
}

TEST_F(SyncRounds, ShareOutByExamples) {
  begin("sync", 2);
  push(0, 30);
  EXPECT_THAT(push(1, 10).shares, ElementsAre(0.75, 0.25));
}

TEST_F(SyncRounds, LeaveTheVersionAsItIsWithoutExamples) {
  begin("sync", 2);
  push(0, 0);
  EXPECT_THAT(push(1, 0).released, ElementsAre(0, 1));
  EXPECT_EQ(rounds->version(), 0u);
}

TEST_F(SyncRounds, AreOverWithoutTheLastOnesWithBackups) {
  begin("sync:backups=1", 3);
  push(0);
  EXPECT_THAT(push(2).members, ElementsAre(0, 2));
  EXPECT_THAT(rounds->take_doomed(), ElementsAre(1));
  EXPECT_THAT(rounds->take_doomed(), IsEmpty());
  const auto late = push(1);
  EXPECT_THAT(late.refused, ElementsAre(1));
  EXPECT_THAT(late.released, ElementsAre(1));
  EXPECT_EQ(from[1], 1u);
}

TEST_F(SyncRounds, WithBackupsWhereNobodyIsLateStillTakeOnlyTheQuorum) {
  begin("sync:quorum=2,backups=1", 3);
  push(1);
  push(0);
  EXPECT_EQ(rounds->version(), 1u);
}

TEST_F(SyncRounds, CountTheQuorumOverThoseWhoLive) {
  begin("sync:quorum=3", 4);
  push(0);
  push(1);
  rounds->leave(3);
  EXPECT_THAT(settle().members, IsEmpty());
  rounds->leave(2);
  EXPECT_THAT(settle().members, ElementsAre(0, 1));
}

TEST_F(SyncRounds, KeepTheSetOfOneThatLeftAfterIt) {
  begin("sync", 2);
  push(0);
  rounds->leave(0);
  EXPECT_THAT(settle().members, IsEmpty());
  EXPECT_THAT(push(1).members, ElementsAre(0, 1));
}

TEST_F(SyncRounds, EndWithTheLastReplica) {
  begin("sync", 2);
  push(0);
  push(1);
  rounds->leave(0);
  push(1);
  EXPECT_EQ(rounds->version(), 2u);
}

TEST_F(SyncRounds, TakeSeveralSetsOfAReplicaWhenTheQuorumIsLarger) {
  begin("sync:quorum=3", 2);
  EXPECT_THAT(push(0).released, ElementsAre(0));  // one more is needed than there are replicas
  EXPECT_THAT(push(1).released, IsEmpty());
  const auto round = push(0);
  EXPECT_THAT(round.members, ElementsAre(0, 1, 0));
  EXPECT_THAT(round.released, ElementsAre(0, 1));
}

TEST_F(SyncRounds, AreCompletedByTheLastOnesThatHaveData) {
  begin("sync:quorum=3", 2);
  push(0);
  push(1);
  rounds->leave(0);  // it has run dry on the way to its second set
  EXPECT_THAT(settle().released, ElementsAre(1));
  rounds->leave(1);
  EXPECT_THAT(settle().members, ElementsAre(0, 1));
}

TEST_F(SyncRounds, BeginOnceAllHaveJoined) {
  RoundsOptions o;
  o.replicas = 2;
  rounds.emplace(o);
  rounds->join(1);
  EXPECT_THAT(settle().released, IsEmpty());
  EXPECT_THAT(rounds->not_joined(), ElementsAre(0));
  rounds->join(0);
  EXPECT_THAT(settle().released, ElementsAre(0, 1));
}

TEST_F(SyncRounds, AddInTheOrderOfTheDataWhenDeterministic) {
  RoundsOptions o;
  o.deterministic = true;
  begin("sync", 3, o);
  rounds->add({2, 1, 0, 1, 7});
  rounds->add({0, 1, 0, 1, 9});
  rounds->add({1, 1, 0, 1, 8});
  EXPECT_THAT(settle().members, ElementsAre(2, 1, 0));
}

TEST_F(SyncRounds, GoOnWithoutOneThatIsLateAndTakeItBack) {
  begin("sync", 3);
  push(0);
  push(1);
  EXPECT_THAT(rounds->waited_for(), ElementsAre(Pair(2, 0)));
  rounds->miss_deadline(2, true);
  EXPECT_THAT(settle().members, ElementsAre(0, 1));
  EXPECT_THAT(push(2).refused, ElementsAre(2));
  push(0);
  push(1);
  EXPECT_EQ(rounds->version(), 1u);  // it is waited for again
  EXPECT_THAT(push(2).members, ElementsAre(0, 1, 2));
}

// ---- async, ssp ------------------------------------------------------------------------------

class AsyncRounds : public ARun {};

TEST_F(AsyncRounds, HaveOneSetEachAndSayHowStaleItIs) {
  begin("async", 2);
  EXPECT_THAT(push(0).staleness, ElementsAre(0));
  EXPECT_THAT(push(0).staleness, ElementsAre(0));
  EXPECT_THAT(push(1).staleness, ElementsAre(2));
}

TEST_F(AsyncRounds, RefuseWhatIsTooStaleWhenTold) {
  begin("async:staleness=drop:1", 2);
  push(0);
  EXPECT_THAT(rounds->take_doomed(), IsEmpty());
  push(0);
  EXPECT_THAT(rounds->take_doomed(), ElementsAre(1));
  const auto late = push(1);
  EXPECT_THAT(late.refused, ElementsAre(1));
  EXPECT_THAT(late.released, ElementsAre(1));
  EXPECT_THAT(push(1).members, ElementsAre(1));
}

TEST_F(AsyncRounds, WeighDownWhatIsStaleWhenTold) {
  begin("async:staleness=weight", 2);
  push(0);
  push(0);
  push(0);
  EXPECT_THAT(push(1).shares, ElementsAre(0.25));
}

TEST_F(AsyncRounds, GiveOutNoMoreStepsThanThereAreToBeMade) {
  RoundsOptions o;
  o.max_steps = 5;
  begin("async", 3, o);
  push(0);
  push(0);
  EXPECT_THAT(push(0).released, IsEmpty());  // three are made, and two are being made
  EXPECT_THAT(push(1).released, IsEmpty());
  const auto last = push(2);
  EXPECT_EQ(rounds->version(), 5u);
  EXPECT_THAT(last.released, ElementsAre(0, 1, 2));
  EXPECT_TRUE(last.next.finished);
}

TEST_F(AsyncRounds, GiveOutAgainAStepThatWasNotMade) {
  RoundsOptions o;
  o.max_steps = 2;
  begin("async", 2, o);
  EXPECT_THAT(push(0).released, IsEmpty());
  rounds->leave(1);
  EXPECT_THAT(settle().released, ElementsAre(0));
  EXPECT_TRUE(push(0).next.finished);
}

class SspRounds : public ARun {};

TEST_F(SspRounds, LetNobodyGetMoreThanTheBoundAhead) {
  begin("ssp:2", 2);
  EXPECT_THAT(push(0).released, ElementsAre(0));
  EXPECT_THAT(push(0).released, ElementsAre(0));
  EXPECT_THAT(push(0).released, IsEmpty());  // three steps done, the other none
  EXPECT_THAT(rounds->waited_for(), ElementsAre(Pair(1, 0)));
  EXPECT_THAT(push(1).released, ElementsAre(0, 1));
}

TEST_F(SspRounds, DoNotWaitForOneThatHasLeft) {
  begin("ssp:1", 2);
  push(0);
  EXPECT_THAT(push(0).released, IsEmpty());
  rounds->leave(1);
  EXPECT_THAT(settle().released, ElementsAre(0));
}

TEST_F(SspRounds, LetOneThatJoinsBeginWithTheSlowest) {
  begin("ssp:1", 2);
  for (int i = 0; i < 5; ++i) {
    push(0);
    push(1);
  }
  rounds->join(2);
  settle();
  EXPECT_THAT(push(0).released, ElementsAre(0));
  EXPECT_THAT(push(0).released, IsEmpty());
}

TEST_F(SspRounds, AreSynchronousWithABoundOfZero) {
  begin("ssp:0", 2);
  EXPECT_TRUE(rounds->policy().whole_rounds());
  EXPECT_THAT(push(0).members, IsEmpty());
  EXPECT_THAT(push(1).members, ElementsAre(0, 1));
}

// ---- local -----------------------------------------------------------------------------------

class LocalRounds : public ARun {};

TEST_F(LocalRounds, CountAllStepsThatWereMade) {
  RoundsOptions o;
  o.max_steps = 11;
  begin("local:8", 2, o);
  rounds->add({0, 1, 0, 80, 0, 8});
  rounds->add({1, 1, 0, 80, 1, 8});
  const auto next = settle().next;
  EXPECT_EQ(rounds->version(), 8u);
  EXPECT_EQ(next.local_steps, 3u);  // and no more than are still to be made
}

// ---- another policy --------------------------------------------------------------------------

class ANewPolicy : public ARun {};

TEST_F(ANewPolicy, BeginsWhenAllHaveEndedTheirStepAndLosesNothing) {
  begin("async", 3);
  push(0);
  rounds->change_policy("sync");
  EXPECT_THAT(settle().released, IsEmpty());
  EXPECT_THAT(push(1).members, ElementsAre(1));  // still under the old one, though it is stale
  EXPECT_THAT(push(0).released, IsEmpty());
  const auto last = push(2);
  EXPECT_THAT(last.members, ElementsAre(2));
  EXPECT_THAT(last.released, ElementsAre(0, 1, 2));
  EXPECT_EQ(rounds->version(), 4u);
  EXPECT_FALSE(rounds->changes_policy());
  push(0);
  push(1);
  EXPECT_EQ(rounds->version(), 4u);
  EXPECT_THAT(push(2).members, ElementsAre(0, 1, 2));
}

TEST_F(ANewPolicy, WaitsForTheEndOfARound) {
  begin("sync", 2);
  push(0);
  rounds->change_policy("async");
  EXPECT_THAT(settle().released, IsEmpty());
  EXPECT_THAT(push(1).members, ElementsAre(0, 1));
  EXPECT_THAT(push(0).members, ElementsAre(0));
}

TEST_F(ANewPolicy, LetsARoundOfSeveralSetsEndFirst) {
  begin("sync:quorum=3", 2);
  push(0);
  rounds->change_policy("async");
  settle();
  push(1);
  EXPECT_THAT(push(0).members, ElementsAre(0, 1, 0));
  EXPECT_FALSE(rounds->changes_policy());
}

TEST_F(ANewPolicy, FreesThoseWhomTheOldOneHeldBack) {
  begin("ssp:1", 2);
  push(0);
  push(0);
  rounds->change_policy("async");
  settle();
  EXPECT_THAT(push(1).released, ElementsAre(0, 1));
}

TEST_F(ANewPolicy, IsRefusedWhenTheRunCannotHaveIt) {
  RoundsOptions o;
  o.deterministic = true;
  begin("sync", 2, o);
  EXPECT_THAT(test::message_of([&] { rounds->change_policy("async"); }),
              HasSubstr("cannot be deterministic with 2 replicas"));
  EXPECT_THAT(test::message_of([&] { rounds->change_policy("synchronous"); }),
              AllOf(HasSubstr("no policy is called 'synchronous'; there are: "), HasSubstr("async"),
                    HasSubstr("local"), HasSubstr("ssp, sync")));
  EXPECT_FALSE(rounds->changes_policy());
}

// ---- replicas that are lost ------------------------------------------------------------------

class ALostReplica : public ARun {};

TEST_F(ALostReplica, IsWaitedForWhereEveryUpdateHasASetOfEach) {
  begin("sync", 2);
  rounds->lose(1);
  EXPECT_THAT(push(0).members, IsEmpty());
  EXPECT_FALSE(rounds->takes_part(1));
  rounds->join(1);
  EXPECT_THAT(settle().released, ElementsAre(1));
  EXPECT_THAT(push(1).members, ElementsAre(0, 1));
}

TEST_F(ALostReplica, IsNotWaitedForElsewhere) {
  begin("ssp:1", 2);
  push(0);
  EXPECT_THAT(push(0).released, IsEmpty());
  rounds->lose(1);
  EXPECT_THAT(settle().released, ElementsAre(0));
}

TEST_F(ALostReplica, IsNotWaitedForAnyMoreWhenNobodyTakesItsPlace) {
  begin("sync", 2);
  rounds->lose(1);
  push(0);
  rounds->give_up_lost();
  EXPECT_THAT(settle().members, ElementsAre(0));
}

TEST_F(ALostReplica, StillHasItsWholeSetInTheRound) {
  begin("sync", 2);
  push(1);
  rounds->lose(1);
  EXPECT_EQ(rounds->undecided(1).size(), 1u);
  EXPECT_THAT(push(0).members, ElementsAre(1, 0));
  EXPECT_THAT(push(0).members, IsEmpty());  // the next one waits for its successor
  rounds->join(1);
  settle();
  EXPECT_THAT(push(1).members, ElementsAre(0, 1));
}

/// Whoever takes its place has joined shards perhaps, but has not been taken in.
TEST_F(ALostReplica, IsNotLetGoOn) {
  begin("sync", 2);
  push(1);
  rounds->lose(1);
  EXPECT_THAT(push(0).released, ElementsAre(0));
  push(0);
  rounds->lose(0);
  rounds->give_up_sets(0);
  EXPECT_THAT(settle().released, IsEmpty());
}

TEST_F(ALostReplica, IsToldNothing) {
  begin("sync", 3);
  rounds->lose(2);
  rounds->miss_deadline(2, true);
  push(0);
  EXPECT_THAT(push(1).members, ElementsAre(0, 1));
  EXPECT_THAT(rounds->take_doomed(), IsEmpty());
}

TEST_F(ALostReplica, KeepsItsClock) {
  begin("sync", 2);
  push(0);
  push(1);
  rounds->lose(1);
  rounds->join(1);
  settle();
  EXPECT_EQ(rounds->status().replicas.at(1).clock, 1u);
}

// ---- what becomes of batches -----------------------------------------------------------------

MATCHER_P4(Settled, replica, first, batches, fate, "") {
  return arg.replica == static_cast<std::uint32_t>(replica) &&
         arg.first == static_cast<std::uint64_t>(first) &&
         arg.batches == static_cast<std::uint32_t>(batches) && arg.fate == fate;
}

class TheBatchesOfASet : public ARun {
 protected:
  GradientCommit set(std::uint32_t replica, std::uint64_t first, std::uint32_t batches = 1) {
    return {replica, ++steps[replica], from[replica], 1, first, 1, false, batches};
  }
};

TEST_F(TheBatchesOfASet, AreSettledByTheDecisionThatTakesIt) {
  begin("sync", 2);
  rounds->add(set(1, 40, 3));
  settle();
  EXPECT_THAT(rounds->take_settled(), IsEmpty());
  rounds->add(set(0, 30, 2));
  settle();
  EXPECT_THAT(rounds->take_settled(), ElementsAre(Settled(1, 40, 3, SetFate::applied),
                                                  Settled(0, 30, 2, SetFate::applied)));
  EXPECT_THAT(rounds->take_settled(), IsEmpty());
}

TEST_F(TheBatchesOfASet, AreToBeComputedAgainWhenItIsStale) {
  begin("sync:backups=1", 2);
  rounds->add(set(0, 1));
  settle();
  rounds->take_settled();
  rounds->add(set(1, 2));
  settle();
  EXPECT_THAT(rounds->take_settled(), ElementsAre(Settled(1, 2, 1, SetFate::stale)));
}

TEST_F(TheBatchesOfASet, AreGivenUpWhenAnotherTakesThePlaceOfItsReplica) {
  begin("sync", 2);
  rounds->add(set(1, 2));
  rounds->lose(1);
  settle();
  EXPECT_THAT(rounds->undecided(1), ElementsAre(Settled(1, 2, 1, SetFate::applied)));
  rounds->join(1);
  settle();
  EXPECT_THAT(rounds->take_settled(), ElementsAre(Settled(1, 2, 1, SetFate::given_up)));
  EXPECT_THAT(rounds->undecided(1), IsEmpty());
}

TEST_F(TheBatchesOfASet, AreLeftOutWithIt) {
  begin("sync", 1);
  rounds->refuse(set(0, 3), SetFate::skipped);
  settle();
  EXPECT_THAT(rounds->take_settled(), ElementsAre(Settled(0, 3, 1, SetFate::skipped)));
}

TEST_F(TheBatchesOfASet, AreNotSettledByAFailure) {
  begin("sync", 1);
  rounds->refuse(set(0, 3), SetFate::skipped, Code::invalid_argument, "the gradient is not finite");
  settle();
  EXPECT_THAT(rounds->take_settled(), IsEmpty());
}

// ---- texts -----------------------------------------------------------------------------------

TEST(PolicyText, SaysWhatIsWrong) {
  const auto words = [](const std::string& given) {
    return test::message_of([&] { make_policy(given); });
  };
  EXPECT_THAT(words("ssp"), HasSubstr("bound"));
  EXPECT_THAT(words("ssp:-1"), HasSubstr("bound"));
  EXPECT_THAT(words("async:3"), HasSubstr("'3' is no option; options look like name=value"));
  EXPECT_THAT(words("sync:staleness=keep"), HasSubstr("staleness"));
  EXPECT_THAT(words("async:staleness=often"), HasSubstr("'keep', 'drop:N'"));
  EXPECT_THAT(words("local:0"), HasSubstr("steps"));
}

TEST(PolicyText, IsRefusedWhenItDoesNotFitTheReplicas) {
  const auto words = [](const std::string& given, std::size_t replicas) {
    return test::message_of([&] { make_policy(given)->expect_fits(replicas); });
  };
  EXPECT_THAT(words("sync:quorum=3,backups=2", 4),
              HasSubstr("a quorum of 3 and 2 backups make 5 replicas, but there are 4"));
  EXPECT_THAT(words("sync:backups=2", 2), HasSubstr("nobody to wait for"));
}

}  // namespace
}  // namespace troupe
