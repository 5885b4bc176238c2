#include "troupe/actors/aggregation/coordinator.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/actor_test.h"
#include "support/fake_actors.h"
#include "troupe/actors/parameters/parameter_shard.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Notes what it is told to give up; for the rest it does what the test says.
caf::behavior noting_client(caf::event_based_actor* self,
                            std::shared_ptr<std::vector<Version>> given_up) {
  return {[self](const test::Task& task) { task(self); },
          [given_up](give_up_atom, Version version) { given_up->push_back(version); }};
}

/// Two shards with one variable each, w0 and w1, and replicas that are the test's clients.
class ACoordinator : public test::ActorTest {
 protected:
  void start(CoordinatorOptions c, std::uint32_t replicas, std::size_t shard_count = 2) {
    c.shards = static_cast<std::uint32_t>(shard_count);
    c.replicas = replicas;
    c.listener = spawn(test::report_keeper, reports);
    rounds = spawn(coordinator, c);
    for (std::uint32_t i = 0; i < shard_count; ++i) {
      ShardOptions o;
      o.index = i;
      o.variables = {{text("w", i), Tensor::of<float>({2}, {0, 0}), true}};
      o.optimizer = optim::sgd();
      o.schedule = 1.0;
      o.policy = c.aggregation.policy;
      o.look_for_nan = c.aggregation.not_finite != NotFinite::ignore;
      o.coordinator = rounds;
      shards.push_back(spawn(parameter_shard, o, SnapshotSink()));
    }
    for (std::uint32_t r = 0; r < replicas; ++r) {
      given_up.push_back(std::make_shared<std::vector<Version>>());
      who.push_back(spawn(noting_client, given_up.back()));
      for (const auto& shard : shards) ask_as<ApplyResult>(who[r], shard, join_atom_v, r);
    }
  }
  using Answers = std::vector<std::shared_ptr<test::Answer<ApplyResult>>>;

  /// One replica's part of a set at one shard.
  auto push_to(std::size_t shard, std::uint32_t replica, std::uint64_t step, float gradient,
               Version version) {
    GradientPart part;
    part.replica = replica;
    part.step = step;
    part.variable = text("w", shard);
    part.values = Tensor::of<float>({2}, {gradient, 0});
    send_as(who[replica], shards[shard], push_atom_v, part);
    return ask_as<ApplyResult>(who[replica], shards[shard], commit_atom_v,
                               GradientCommit{replica, step, version, 1, replica});
  }
  Answers push(std::uint32_t replica, std::uint64_t step, float gradient, Version version) {
    Answers answers;
    for (std::size_t i = 0; i < shards.size(); ++i)
      answers.push_back(push_to(i, replica, step, gradient, version));
    return answers;
  }
  float weight(std::size_t shard) {
    return ask<Parameters>(shards[shard], pull_atom_v, kNoVersion)
        ->value->values.at(0)
        .read<float>()[0];
  }
  Version version(std::size_t shard) {
    return ask<ShardStatus>(shards[shard], status_atom_v)->value->version;
  }
  AggregationStatus status() { return *ask<AggregationStatus>(rounds, status_atom_v)->value; }

  Coordinator rounds;
  std::vector<Shard> shards;
  std::vector<caf::actor> who;
  std::vector<std::shared_ptr<std::vector<Version>>> given_up;
  std::shared_ptr<test::Reports> reports = std::make_shared<test::Reports>();
};

CoordinatorOptions with_policy(const std::string& policy) {
  CoordinatorOptions c;
  c.aggregation.policy = policy;
  return c;
}

// ---- the members of a round ------------------------------------------------------------------

TEST_F(ACoordinator, TakesTheSameSetsForAllShardsWhateverOrderTheyComeIn) {
  start(with_policy("sync:quorum=2"), 3);
  // At shard 0 replicas 0 and 1 are the first two, at shard 1 replicas 2 and 1.
  push_to(0, 0, 1, 1, 0);
  push_to(1, 2, 1, 100, 0);
  push_to(0, 1, 1, 10, 0);
  push_to(1, 1, 1, 10, 0);  // replica 1 is whole, and the only one
  EXPECT_EQ(version(0), 0u);
  push_to(0, 2, 1, 100, 0);  // replica 2 is the second
  EXPECT_FLOAT_EQ(weight(0), -55);
  EXPECT_FLOAT_EQ(weight(1), -55);
  push_to(1, 0, 1, 1, 0);
  EXPECT_EQ(version(0), 1u);
  EXPECT_EQ(version(1), 1u);
  EXPECT_EQ(status().replicas.at(0).stale, 1u);
}

TEST_F(ACoordinator, LeavesOutTheSetOfAReplicaThatDiedBeforeAllShardsHadIt) {
  start(with_policy("sync"), 2);
  push_to(0, 1, 1, 100, 0);
  kill(who[1]);
  push(0, 1, 1, 0);
  EXPECT_FLOAT_EQ(weight(0), -1);
  EXPECT_FLOAT_EQ(weight(1), -1);
}

TEST_F(ACoordinator, TakesTheSetOfAReplicaThatDiedAfterAllShardsHadIt) {
  start(with_policy("sync"), 2);
  push(1, 1, 3, 0);
  kill(who[1]);
  push(0, 1, 1, 0);
  EXPECT_FLOAT_EQ(weight(0), -2);
  EXPECT_FLOAT_EQ(weight(1), -2);
}

TEST_F(ACoordinator, KeepsTheSetOfOneThatDiedWhenACopyOfAShardTellsOfItAgain) {
  start(with_policy("sync"), 2);
  push(1, 1, 3, 0);
  kill(who[1]);
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    caf::anon_send(rounds, ready_atom_v,
                   SetReport{shard, GradientCommit{1, 1, 0, 1, 1}, Code::ok, {}, {}});
  settle();
  push(0, 1, 1, 0);
  EXPECT_FLOAT_EQ(weight(0), -2);
  EXPECT_FLOAT_EQ(weight(1), -2);
}

TEST_F(ACoordinator, AnswersLateSetsAndTellsStragglersToStop) {
  start(with_policy("sync:backups=1"), 3);
  push(0, 1, 1, 0);
  EXPECT_THAT(*given_up[2], SizeIs(0));
  push(1, 1, 1, 0);
  EXPECT_THAT(*given_up[2], ElementsAre(1));
  for (const auto& answer : push(2, 1, 100, 0)) {
    ASSERT_TRUE(answer->value) << answer->words();
    EXPECT_EQ(answer->value->fate, SetFate::stale);
    EXPECT_EQ(answer->value->staleness, 1u);
    EXPECT_EQ(answer->value->parameters.version, 1u);
  }
  EXPECT_FLOAT_EQ(weight(0), -1);
}

TEST_F(ACoordinator, LetsTheNextRoundHaveTheStragglerOfTheLast) {
  start(with_policy("sync:backups=1"), 3);
  push(0, 1, 1, 0);
  push(1, 1, 1, 0);
  push(2, 1, 1, 0);
  push(2, 2, 4, 1);
  push(0, 2, 2, 1);
  EXPECT_FLOAT_EQ(weight(0), -4);
}

TEST_F(ACoordinator, ForgetsWhatAReplicaPushedBeforeItGaveUp) {
  start(with_policy("sync:backups=1"), 2);
  GradientPart part;
  part.replica = 1;
  part.step = 1;
  part.variable = "w0";
  part.values = Tensor::of<float>({2}, {100, 0});
  send_as(who[1], shards[0], push_atom_v, part);
  push(0, 1, 1, 0);
  Answers answers;
  for (const auto& shard : shards)
    answers.push_back(
        ask_as<ApplyResult>(who[1], shard, commit_atom_v, GradientCommit{1, 1, 0, 0, 0, 1, true}));
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer->value) << answer->words();
    EXPECT_EQ(answer->value->fate, SetFate::given_up);
    EXPECT_EQ(answer->value->parameters.version, 1u);
  }
  EXPECT_FLOAT_EQ(weight(0), -1);
}

TEST_F(ACoordinator, KeepsTheVersionsOfAllShardsEqualWhenAsynchronous) {
  start(with_policy("async"), 3);
  push_to(0, 0, 1, 1, 0);
  push_to(1, 1, 1, 1, 0);
  EXPECT_EQ(version(0), 0u);
  EXPECT_EQ(version(1), 0u);
  push_to(1, 0, 1, 1, 0);
  push_to(0, 1, 1, 1, 0);
  EXPECT_EQ(version(0), 2u);
  EXPECT_EQ(version(1), 2u);
}

TEST_F(ACoordinator, LetsOneJoinWhileOthersTrain) {
  start(with_policy("async"), 1);
  push(0, 1, 1, 0);
  const auto other = client();
  who.push_back(other);
  const auto first = ask_as<ApplyResult>(other, shards[0], join_atom_v, std::uint32_t{1});
  EXPECT_TRUE(first->pending());  // it has not joined everywhere
  push(0, 2, 1, 1);
  const auto second = ask_as<ApplyResult>(other, shards[1], join_atom_v, std::uint32_t{1});
  EXPECT_EQ(first->value->parameters.version, 2u);
  EXPECT_EQ(second->value->parameters.version, 2u);
  EXPECT_THAT(first->value->parameters.names, ElementsAre("w0"));
  EXPECT_EQ(push(1, 1, 1, 2)[0]->value->staleness, 0u);
}

TEST_F(ACoordinator, TakesAnotherActorForAReplicaThatDied) {
  start(with_policy("sync"), 2);
  push(1, 1, 100, 0);  // waits, and is lost with it when another takes its place
  kill(who[1]);
  who[1] = client();
  for (const auto& shard : shards)
    ask_as<ApplyResult>(who[1], shard, join_atom_v, std::uint32_t{1});
  const auto again = push(1, 1, 3, 0);
  EXPECT_TRUE(again[0]->pending());
  push(0, 1, 1, 0);
  EXPECT_FLOAT_EQ(weight(0), -2);
  EXPECT_FLOAT_EQ(weight(1), -2);
  EXPECT_FALSE(again[0]->pending());
}

// ---- deadlines -------------------------------------------------------------------------------

TEST_F(ACoordinator, NamesTheReplicaThatKeepsOthersWaiting) {
  auto c = with_policy("sync");
  c.aggregation.round_deadline = std::chrono::milliseconds(500);
  start(c, 3);
  push(0, 1, 1, 0);
  push(2, 1, 1, 0);
  advance(std::chrono::milliseconds(499));
  EXPECT_THAT(reports->events, SizeIs(0));
  advance(std::chrono::milliseconds(2));
  ASSERT_THAT(reports->events, SizeIs(1));
  EXPECT_EQ(reports->events[0].message, "replica 1 has kept replicas 0, 2 waiting for 500 ms");
  advance(std::chrono::milliseconds(5000));
  EXPECT_THAT(reports->events, SizeIs(1));  // once
  EXPECT_EQ(version(0), 0u);                // and it is waited for all the same
  EXPECT_EQ(status().replicas.at(1).late, 1u);
}

TEST_F(ACoordinator, GoesOnWithoutTheLateReplicaWhenToldTo) {
  auto c = with_policy("sync");
  c.aggregation.round_deadline = std::chrono::milliseconds(500);
  c.aggregation.leave_out_late = true;
  start(c, 3);
  push(0, 1, 1, 0);
  push(2, 1, 1, 0);
  advance(std::chrono::milliseconds(501));
  EXPECT_EQ(version(0), 1u);
  EXPECT_THAT(*given_up[1], ElementsAre(1));
  EXPECT_THAT(reports->events.at(0).message, HasSubstr("they go on without it"));
}

TEST_F(ACoordinator, StartsTheClockAnewForEachStep) {
  auto c = with_policy("sync");
  c.aggregation.round_deadline = std::chrono::milliseconds(500);
  start(c, 2);
  for (std::uint64_t step = 1; step <= 4; ++step) {
    push(0, step, 1, step - 1);
    advance(std::chrono::milliseconds(300));
    push(1, step, 1, step - 1);
  }
  EXPECT_THAT(reports->events, SizeIs(0));
  EXPECT_EQ(version(0), 4u);
}

TEST_F(ACoordinator, BeginsWithoutThoseWhoNeverJoin) {
  CoordinatorOptions c;
  c.shards = 1;
  c.replicas = 2;
  c.listener = spawn(test::report_keeper, reports);
  rounds = spawn(coordinator, c);
  ShardOptions o;
  o.variables = {{"w0", Tensor::of<float>({2}, {0, 0}), true}};
  o.coordinator = rounds;
  const auto shard = spawn(parameter_shard, o, SnapshotSink());
  const auto joined = ask_as<ApplyResult>(client(), shard, join_atom_v, std::uint32_t{0});
  EXPECT_TRUE(joined->pending());
  advance(c.start_patience + std::chrono::milliseconds(1));
  EXPECT_FALSE(joined->pending());
  EXPECT_EQ(reports->events.at(0).message,
            "replica 1 did not join within 30000 ms: the run begins without");
}

// ---- what gradients hold ---------------------------------------------------------------------

TEST_F(ACoordinator, EndsAReplicaWithGradientsThatAreNotFiniteAndKeepsTheWeights) {
  start(with_policy("sync"), 2);
  push(0, 1, 1, 0);
  const auto answers = push(1, 1, std::numeric_limits<float>::infinity(), 0);
  EXPECT_THAT(answers[1]->words(),
              HasSubstr("invalid argument: step 1: the gradient of 'w0' has values that "
                        "are not finite"));
  EXPECT_EQ(version(0), 0u);
  EXPECT_FLOAT_EQ(weight(0), 0);
}

TEST_F(ACoordinator, LeavesOutGradientsThatAreNotFiniteWhenToldTo) {
  auto c = with_policy("sync");
  c.aggregation.not_finite = NotFinite::skip;
  start(c, 2);
  // Only the second shard's part is bad: the first must leave its part out, too.
  push_to(0, 1, 1, 50, 0);
  push_to(1, 1, 1, NAN, 0);
  ASSERT_THAT(reports->events, SizeIs(1));
  EXPECT_EQ(reports->events[0].message,
            "replica 1, step 1: the gradient of 'w1' has values that are not finite: it is left "
            "out");
  push(0, 1, 1, 0);
  EXPECT_EQ(version(0), 0u);  // replica 1 is in its next step, and is waited for
  push(1, 2, 3, 0);
  EXPECT_FLOAT_EQ(weight(0), -2);
  EXPECT_FLOAT_EQ(weight(1), -2);
  EXPECT_EQ(status().replicas.at(1).skipped, 1u);
}

TEST_F(ACoordinator, ClipsByTheNormOfAllShardsTogether) {
  auto c = with_policy("sync");
  c.aggregation.clip_norm = 1;
  start(c, 1);
  push_to(0, 0, 1, 3, 0);
  push_to(1, 0, 1, 4, 0);  // a norm of 5
  EXPECT_FLOAT_EQ(weight(0), -3.0f / 5);
  EXPECT_FLOAT_EQ(weight(1), -4.0f / 5);
  push(0, 2, 0.1f, 1);  // below 1: as it is
  EXPECT_FLOAT_EQ(weight(0), -3.0f / 5 - 0.1f);
  EXPECT_EQ(status().clipped, 1u);
}

TEST_F(ACoordinator, ClipsTheMeanOfARoundAndNotItsParts) {
  auto c = with_policy("sync");
  c.aggregation.clip_norm = 1;
  start(c, 2, 1);
  push(0, 1, 10, 0);
  push(1, 1, -10, 0);
  EXPECT_FLOAT_EQ(weight(0), 0);
  EXPECT_EQ(status().clipped, 0u);
}

TEST_F(ACoordinator, ClipsSetsThatComeWhileNormsAreOnTheirWayOneAfterTheOther) {
  auto c = with_policy("async");
  c.aggregation.clip_norm = 1;
  start(c, 3);
  for (std::uint32_t r = 0; r < 3; ++r)
    for (std::size_t i = 0; i < 2; ++i) {
      GradientPart part;
      part.replica = r;
      part.step = 1;
      part.variable = text("w", i);
      part.values = Tensor::of<float>({2}, {i == 0 ? 3.0f : 4.0f, 0});
      caf::anon_send(who[r], test::Task([=, shard = shards[i]](caf::event_based_actor* self) {
                       self->send(shard, push_atom_v, part);
                       self->request(shard, caf::infinite, commit_atom_v,
                                     GradientCommit{r, 1, 0, 1, r})
                           .then([](const ApplyResult&) {});
                     }));
    }
  settle();
  EXPECT_EQ(version(0), 3u);
  EXPECT_NEAR(weight(0), -3 * 0.6, 1e-6);
  EXPECT_NEAR(weight(1), -3 * 0.8, 1e-6);
}

// ---- another policy --------------------------------------------------------------------------

TEST_F(ACoordinator, ChangesThePolicyAtTheEndOfARound) {
  start(with_policy("sync"), 2);
  push(0, 1, 1, 0);
  const auto changed = ask<caf::ok_atom>(rounds, policy_atom_v, std::string("async"));
  EXPECT_TRUE(changed->pending());
  push(1, 1, 3, 0);
  EXPECT_TRUE(changed->value) << changed->words();
  EXPECT_FLOAT_EQ(weight(0), -2);
  push(0, 2, 1, 1);
  EXPECT_FLOAT_EQ(weight(0), -3);
  EXPECT_EQ(status().policy, "async");
  EXPECT_EQ(reports->events.at(0).message, "the policy is 'async' from here on");
  EXPECT_THAT(ask<caf::ok_atom>(rounds, policy_atom_v, std::string("asink"))->words(),
              HasSubstr("no policy is called 'asink'"));
}

// ---- whoever hands out batches ---------------------------------------------------------------

/// What a feeder is told.
struct Told {
  std::vector<Settlement> settlements;
  std::vector<std::pair<std::uint32_t, Settlement>> left;
  std::vector<std::uint32_t> joined;
};
Feeder::behavior_type noting_feeder(Feeder::pointer, std::shared_ptr<Told> told) {
  return {
      [](next_atom, std::uint32_t) { return Batch{}; },
      [](assign_atom, bool) {},
      [](status_atom) { return StageStatus{}; },
      [=](settle_atom, const Settlement& s) { told->settlements.push_back(s); },
      [=](leave_atom, std::uint32_t replica, const caf::actor_addr&, const Settlement& undecided) {
        told->left.emplace_back(replica, undecided);
      },
      [=](join_atom, std::uint32_t replica) { told->joined.push_back(replica); },
      [](detach_atom, std::uint32_t) {},
      [](ledger_atom) { return LedgerStatus{}; },
      [](ledger_atom, std::uint32_t, const caf::actor_addr&) { return LedgerStatus{}; },
  };
}

class ACoordinatorWithAFeeder : public ACoordinator {
 protected:
  void start_with_feeder(CoordinatorOptions c, std::uint32_t replicas) {
    start(c, replicas);
    caf::anon_send(rounds, assign_atom_v, spawn(noting_feeder, told));
    settle();
  }
  /// Another actor joins as that replica.
  void join_anew(std::uint32_t replica) {
    who[replica] = client();
    for (const auto& shard : shards) ask_as<ApplyResult>(who[replica], shard, join_atom_v, replica);
  }
  std::shared_ptr<Told> told = std::make_shared<Told>();
};

TEST_F(ACoordinatorWithAFeeder, TellsItOnceForEachDecision) {
  start_with_feeder(with_policy("sync"), 2);
  push(0, 1, 1, 0);
  push(1, 1, 1, 0);
  ASSERT_EQ(told->settlements.size(), 1u);
  EXPECT_EQ(told->settlements[0].version, 1u);
  EXPECT_EQ(told->settlements[0].sets.size(), 2u);
}

TEST_F(ACoordinatorWithAFeeder, TellsItWhatOneThatDiedLeftUndecided) {
  start_with_feeder(with_policy("sync"), 2);
  push(1, 1, 1, 0);
  kill(who[1]);
  ASSERT_EQ(told->left.size(), 1u);
  EXPECT_EQ(told->left[0].first, 1u);
  ASSERT_EQ(told->left[0].second.sets.size(), 1u);
  EXPECT_EQ(told->left[0].second.sets[0].first, 1u);
  push(0, 1, 1, 0);
  EXPECT_EQ(told->settlements.at(0).sets.size(), 2u);
}

TEST_F(ACoordinatorWithAFeeder, DoesNotCallASetUndecidedThatNotAllShardsHave) {
  start_with_feeder(with_policy("sync"), 2);
  push_to(0, 1, 1, 1, 0);
  kill(who[1]);
  ASSERT_EQ(told->left.size(), 1u);
  EXPECT_TRUE(told->left[0].second.sets.empty());
}

TEST_F(ACoordinatorWithAFeeder, WaitsForTheSuccessorOfOneThatDied) {
  auto c = with_policy("sync");
  c.replaces_lost = true;
  start_with_feeder(c, 2);
  kill(who[1]);
  push(0, 1, 1, 0);
  EXPECT_EQ(version(0), 0u);
  join_anew(1);
  EXPECT_EQ(told->joined.back(), 1u);
  push(1, 1, 3, 0);
  EXPECT_FLOAT_EQ(weight(0), -2);
  EXPECT_FLOAT_EQ(weight(1), -2);
}

TEST_F(ACoordinatorWithAFeeder, GivesUpWaitingForASuccessorWhenTheRunStops) {
  auto c = with_policy("sync");
  c.replaces_lost = true;
  start_with_feeder(c, 2);
  kill(who[1]);
  push(0, 1, 1, 0);
  caf::anon_send(rounds, stop_atom_v);
  settle();
  EXPECT_FLOAT_EQ(weight(0), -1);
}

class AStopOfADeterministicRun : public ACoordinatorWithAFeeder {
 protected:
  static CoordinatorOptions deterministic() {
    auto c = with_policy("sync");
    c.deterministic = c.replaces_lost = true;
    return c;
  }
  void stop() {
    caf::anon_send(rounds, stop_atom_v);
    settle();
  }
  void expect_given_up(const Answers& answers) {
    for (const auto& answer : answers) {
      ASSERT_TRUE(answer->value);
      EXPECT_EQ(answer->value->fate, SetFate::given_up);
      EXPECT_TRUE(answer->value->next.finished);
    }
    EXPECT_EQ(version(0), 0u);
    ASSERT_EQ(told->settlements.size(), 1u);
    ASSERT_EQ(told->settlements[0].sets.size(), 1u);
    EXPECT_EQ(told->settlements[0].sets[0].fate, SetFate::given_up);
  }
};

TEST_F(AStopOfADeterministicRun, GivesUpTheSetsOfOthersWhenAReplicaIsLost) {
  start_with_feeder(deterministic(), 2);
  kill(who[1]);
  const auto answers = push(0, 1, 1, 0);
  stop();
  expect_given_up(answers);
}

TEST_F(AStopOfADeterministicRun, GivesUpTheSetsOfOthersWhenAReplicaDiesOrLeavesAfterIt) {
  start_with_feeder(deterministic(), 2);
  const auto answers = push(0, 1, 1, 0);
  stop();
  EXPECT_FALSE(answers[0]->value) << "the other one may have its set yet";
  kill(who[1]);
  expect_given_up(answers);
}

TEST_F(AStopOfADeterministicRun, MakesTheUpdateThatAllHaveASetOf) {
  start_with_feeder(deterministic(), 2);
  stop();
  push(0, 1, 1, 0);
  push(1, 1, 3, 0);
  EXPECT_FLOAT_EQ(weight(0), -2);
  for (const auto& shard : shards)
    ask_as<caf::ok_atom>(who[0], shard, leave_atom_v, std::uint32_t{0});
  push(1, 2, 3, 1);
  EXPECT_EQ(version(0), 1u) << "the next one would be without the other";
}

TEST_F(ACoordinatorWithAFeeder, TakesNobodyInWhoDiedBeforeItsShardsToldOfIt) {
  start_with_feeder(with_policy("sync"), 1);
  const auto other = client();
  const auto handle = caf::actor_cast<Replica>(other);
  caf::anon_send(rounds, expect_atom_v, std::uint32_t{1}, handle);
  settle();
  kill(other);
  for (std::uint32_t shard = 0; shard < 2; ++shard)
    caf::anon_send(rounds, join_atom_v, shard, std::uint32_t{1}, handle);
  settle();
  EXPECT_TRUE(told->joined.empty());
  push(0, 1, 1, 0);
  EXPECT_EQ(version(0), 1u);  // nobody waits for it
}

TEST_F(ACoordinatorWithAFeeder, HearsOfTheDeathOfOneThatHasNotJoined) {
  start_with_feeder(with_policy("sync"), 1);
  const auto other = client();
  caf::anon_send(rounds, expect_atom_v, std::uint32_t{1}, caf::actor_cast<Replica>(other));
  settle();
  kill(other);
  ASSERT_EQ(told->left.size(), 1u);
  EXPECT_EQ(told->left[0].first, 1u);
}

}  // namespace
}  // namespace troupe
