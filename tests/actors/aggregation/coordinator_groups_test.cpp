#include <gmock/gmock.h>

#include <limits>

#include "support/actor_test.h"
#include "support/fake_actors.h"
#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/parameters/parameter_shard.h"

namespace troupe {
namespace {

/// What a feeder is told.
struct Told {
  std::vector<SettledSet> settled;
  std::vector<Settlement> left;
};
Feeder::behavior_type noting_feeder(Feeder::pointer, std::shared_ptr<Told> told) {
  return {
      [](next_atom, std::uint32_t) { return Batch{}; },
      [](assign_atom, bool) {},
      [](status_atom) { return StageStatus{}; },
      [=](settle_atom, const Settlement& s) {
        told->settled.insert(told->settled.end(), s.sets.begin(), s.sets.end());
      },
      [=](leave_atom, std::uint32_t, const caf::actor_addr&, const Settlement& undecided) {
        told->left.push_back(undecided);
      },
      [](join_atom, std::uint32_t) {},
      [](detach_atom, std::uint32_t) {},
      [](ledger_atom) { return LedgerStatus{}; },
      [](ledger_atom, std::uint32_t, const caf::actor_addr&) { return LedgerStatus{}; },
  };
}

SnapshotSink::behavior_type snapshot_keeper(SnapshotSink::pointer,
                                            std::shared_ptr<std::vector<ShardSnapshot>> kept) {
  return {[=](snapshot_atom, const ShardSnapshot& snapshot) { kept->push_back(snapshot); }};
}

/// Two shards with one variable each: w0 has the run's policy, w1 one of its own.
class ACoordinatorOfGroups : public test::ActorTest {
 protected:
  void start(const std::string& policy, const std::string& of_w1, std::uint32_t replicas,
             CoordinatorOptions c = {}) {
    c.aggregation.policy = policy;
    c.aggregation.groups = {{"w1", of_w1}};
    c.group_of_shard = {0, 1};
    c.shards = 2;
    c.replicas = replicas;
    rounds = spawn(coordinator, c);
    caf::anon_send(rounds, assign_atom_v, spawn(noting_feeder, told));
    const auto sink = spawn(snapshot_keeper, kept);
    for (std::uint32_t i = 0; i < 2; ++i) {
      ShardOptions o;
      o.index = i;
      o.variables = {{text("w", i), Tensor::of<float>({2}, {0, 0}), true}};
      o.optimizer = optim::sgd();
      o.schedule = 1.0;
      o.policy = i == 0 ? policy : of_w1;
      if (i == 1) o.group = "w1";
      o.coordinator = rounds;
      shards.push_back(spawn(parameter_shard, o, sink));
    }
    for (std::uint32_t r = 0; r < replicas; ++r) join(r);
  }
  using Answers = std::vector<std::shared_ptr<test::Answer<ApplyResult>>>;
  /// An actor joins as that replica.
  Answers join(std::uint32_t replica) {
    who.resize(std::max<std::size_t>(who.size(), replica + 1));
    who[replica] = client();
    Answers answers;
    for (const auto& shard : shards)
      answers.push_back(ask_as<ApplyResult>(who[replica], shard, join_atom_v, replica));
    return answers;
  }
  /// A set of batch `order`, computed from the parameters that the replica was given last.
  Answers push(std::uint32_t replica, std::uint64_t step, float gradient, std::uint64_t order,
               std::vector<Version> versions = {0, 0}) {
    Answers answers;
    for (std::size_t i = 0; i < 2; ++i) {
      GradientPart part;
      part.replica = replica;
      part.step = step;
      part.variable = text("w", i);
      part.values = Tensor::of<float>({2}, {gradient, 0});
      send_as(who[replica], shards[i], push_atom_v, part);
      answers.push_back(ask_as<ApplyResult>(who[replica], shards[i], commit_atom_v,
                                            GradientCommit{replica, step, versions[i], 1, order}));
    }
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
  static bool answered(const Answers& answers) {
    for (const auto& answer : answers)
      if (!answer->value) return false;
    return true;
  }
  static bool pending(const Answers& answers) {
    for (const auto& answer : answers)
      if (!answer->pending()) return false;
    return true;
  }

  SavingCoordinator rounds;
  std::vector<Shard> shards;
  std::vector<caf::actor> who;
  std::shared_ptr<Told> told = std::make_shared<Told>();
  std::shared_ptr<std::vector<ShardSnapshot>> kept = std::make_shared<std::vector<ShardSnapshot>>();
};

TEST_F(ACoordinatorOfGroups, DecidesForEachByItsOwnPolicyAndLetsReplicasGoOnWhenAllDo) {
  start("sync", "async", 2);
  const auto first = push(0, 1, 1, 0);
  EXPECT_FLOAT_EQ(weight(0), 0);
  EXPECT_FLOAT_EQ(weight(1), -1);
  EXPECT_TRUE(pending(first));
  EXPECT_TRUE(told->settled.empty());
  const auto second = push(1, 1, 10, 1);
  EXPECT_FLOAT_EQ(weight(0), -5.5);
  EXPECT_FLOAT_EQ(weight(1), -11);
  ASSERT_TRUE(answered(first));
  ASSERT_TRUE(answered(second));
  EXPECT_EQ(told->settled.size(), 2u);
  EXPECT_EQ(version(0), 1u);
  EXPECT_EQ(version(1), 2u);
  // Both have the parameters of the same moment.
  EXPECT_FLOAT_EQ(first[1]->value->parameters.values.at(0).read<float>()[0], -11);
  EXPECT_EQ(second[1]->value->staleness, 1u);
  const auto now = status();
  EXPECT_EQ(now.version, 1u);
  ASSERT_EQ(now.groups.size(), 1u);
  EXPECT_EQ(now.groups[0].variables, "w1");
  EXPECT_EQ(now.groups[0].policy, "async");
  EXPECT_EQ(now.groups[0].version, 2u);
}

TEST_F(ACoordinatorOfGroups, LetsTheRunBeAsynchronousAndSomeVariablesSynchronous) {
  start("async", "sync", 2);
  push(0, 1, 1, 0);
  EXPECT_FLOAT_EQ(weight(0), -1);
  EXPECT_FLOAT_EQ(weight(1), 0);
  push(1, 1, 10, 1);
  EXPECT_FLOAT_EQ(weight(0), -11);
  EXPECT_FLOAT_EQ(weight(1), -5.5);
  EXPECT_EQ(status().version, 2u);
}

TEST_F(ACoordinatorOfGroups, EndsAtTheLastStepOfTheRunWithEverySetInAllVariables) {
  CoordinatorOptions c;
  c.max_steps = 3;
  start("async", "sync", 2, c);
  push(0, 1, 1, 0);
  push(1, 1, 1, 1);
  // One step is left, and one replica gets it; the other has nothing more to do.
  const auto last = push(0, 2, 1, 2, {2, 1});
  EXPECT_EQ(status().version, 3u);
  EXPECT_FLOAT_EQ(weight(0), -3);
  EXPECT_FLOAT_EQ(weight(1), -1);
  EXPECT_TRUE(pending(last));  // its set waits for the other one
  for (const auto& shard : shards)
    ask_as<caf::ok_atom>(who[1], shard, leave_atom_v, std::uint32_t{1});
  ASSERT_TRUE(answered(last));
  EXPECT_TRUE(last[0]->value->next.finished);
  EXPECT_TRUE(last[1]->value->next.finished);
  EXPECT_FLOAT_EQ(weight(1), -2);
  EXPECT_EQ(told->settled.size(), 3u);
}

TEST_F(ACoordinatorOfGroups, CountsASetOfOneThatDiedOnceInAllVariables) {
  CoordinatorOptions c;
  c.replaces_lost = true;
  start("sync", "async", 2, c);
  push(0, 1, 1, 0);
  kill(who[0]);
  ASSERT_EQ(told->left.size(), 1u);
  ASSERT_EQ(told->left[0].sets.size(), 1u);  // w0 does not have it yet
  // The next one of that number is not taken in before it is settled.
  const auto joined = join(0);
  EXPECT_TRUE(pending(joined));
  EXPECT_TRUE(told->settled.empty());
  push(1, 1, 10, 1);
  EXPECT_FLOAT_EQ(weight(0), -5.5);
  EXPECT_FLOAT_EQ(weight(1), -11);
  EXPECT_TRUE(answered(joined));
  ASSERT_EQ(told->settled.size(), 2u);
  for (const auto& set : told->settled) EXPECT_EQ(set.fate, SetFate::applied);
}

TEST_F(ACoordinatorOfGroups, GivesUpASetThatNoVariableHasYet) {
  CoordinatorOptions c;
  c.replaces_lost = true;
  start("sync", "ssp:0", 2, c);  // which is sync
  push(0, 1, 1, 0);
  kill(who[0]);
  join(0);
  ASSERT_EQ(told->settled.size(), 1u);
  EXPECT_EQ(told->settled[0].fate, SetFate::given_up);
  push(1, 1, 10, 1);
  push(0, 1, 1, 0);
  EXPECT_FLOAT_EQ(weight(0), -5.5);
  EXPECT_FLOAT_EQ(weight(1), -5.5);
  EXPECT_EQ(told->settled.size(), 3u);
}

TEST_F(ACoordinatorOfGroups, KeepsWhatThereIsWhenEverySetIsInAllVariablesOrInNone) {
  CoordinatorOptions c;
  c.snapshot_every = 1;
  start("async", "sync", 2, c);
  push(0, 1, 1, 0);
  EXPECT_TRUE(kept->empty());
  push(1, 1, 10, 1);
  ASSERT_EQ(kept->size(), 2u);
  for (const auto& snapshot : *kept) {
    EXPECT_EQ(snapshot.version, 2u);
    const bool leads = snapshot.shard == 0;
    EXPECT_EQ(snapshot.own_version, leads ? 2u : 1u);
    EXPECT_EQ(snapshot.group, leads ? "" : "w1");
    EXPECT_FLOAT_EQ(snapshot.tensors.at(0).values.read<float>()[0], leads ? -11 : -5.5);
  }
}

TEST_F(ACoordinatorOfGroups, LeavesASetOutForAllVariables) {
  CoordinatorOptions c;
  c.aggregation.not_finite = NotFinite::skip;
  start("sync", "async", 2, c);
  push(0, 1, std::numeric_limits<float>::infinity(), 0);
  ASSERT_EQ(told->settled.size(), 1u);
  EXPECT_EQ(told->settled[0].fate, SetFate::skipped);
  push(1, 1, 10, 1);
  EXPECT_FLOAT_EQ(weight(0), 0);
  EXPECT_FLOAT_EQ(weight(1), -10);
  push(0, 2, 4, 2);
  EXPECT_FLOAT_EQ(weight(0), -7);
  EXPECT_FLOAT_EQ(weight(1), -14);
  ASSERT_EQ(told->settled.size(), 3u);
  EXPECT_EQ(told->settled[2].fate, SetFate::applied);
}

TEST_F(ACoordinatorOfGroups, ChangesThePolicyOfTheRunAlone) {
  start("sync", "async", 2);
  push(0, 1, 1, 0);
  const auto changed = ask<caf::ok_atom>(rounds, policy_atom_v, std::string("ssp:1"));
  EXPECT_TRUE(changed->pending());
  push(1, 1, 10, 1);
  EXPECT_TRUE(changed->value) << changed->words();
  push(0, 2, 1, 2, {1, 2});
  EXPECT_FLOAT_EQ(weight(0), -6.5);
  EXPECT_EQ(status().policy, "ssp:1");
  EXPECT_EQ(status().groups.at(0).policy, "async");
}

TEST_F(ACoordinatorOfGroups, ChangesThePolicyOfAGroup) {
  start("sync", "async", 2);
  push(0, 1, 1, 0);
  const auto changed =
      ask<caf::ok_atom>(rounds, policy_atom_v, std::string("sync"), std::string("w1"));
  EXPECT_TRUE(changed->pending());
  push(1, 1, 10, 1);
  EXPECT_TRUE(changed->value) << changed->words();
  push(0, 2, 1, 2, {1, 2});
  EXPECT_FLOAT_EQ(weight(1), -11);
  push(1, 2, 3, 3, {1, 2});
  EXPECT_FLOAT_EQ(weight(0), -7.5);
  EXPECT_FLOAT_EQ(weight(1), -13);
  EXPECT_EQ(status().groups.at(0).policy, "sync");
  EXPECT_THAT(
      ask<caf::ok_atom>(rounds, policy_atom_v, std::string("sync"), std::string("w2"))->words(),
      ::testing::HasSubstr("no group of variables is 'w2'"));
}

}  // namespace
}  // namespace troupe
