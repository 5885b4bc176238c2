#include "troupe/actors/parameters/parameter_shard.h"

#include <gmock/gmock.h>

#include "support/actor_test.h"
#include "troupe/actors/aggregation/coordinator.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ParameterShard : public test::ActorTest {
 protected:
  static ShardOptions options() {
    ShardOptions o;
    o.variables = {{"w", Tensor::of<float>({2}, {1, 1}), true},
                   {"mean", Tensor::of<float>({}, {0}), false}};
    o.optimizer = optim::sgd();
    o.schedule = 0.5;
    return o;
  }
  Shard start(ShardOptions o, CoordinatorOptions c = {}) {
    c.aggregation.policy = o.policy;
    o.coordinator = spawn(coordinator, c);
    return spawn(parameter_shard, o, SnapshotSink());
  }

  void join(const caf::actor& who, const Shard& shard, std::uint32_t replica) {
    ASSERT_TRUE(ask_as<ApplyResult>(who, shard, join_atom_v, replica)->value);
  }
  auto push_and_commit(const caf::actor& who, const Shard& shard, std::uint32_t replica,
                       std::uint64_t step, std::vector<float> gradient, Version version = 0,
                       double weight = 1) {
    GradientPart part;
    part.replica = replica;
    part.step = step;
    part.variable = "w";
    part.values = Tensor::of<float>({static_cast<std::int64_t>(gradient.size())}, gradient);
    send_as(who, shard, push_atom_v, part);
    return ask_as<ApplyResult>(who, shard, commit_atom_v,
                               GradientCommit{replica, step, version, weight, replica});
  }
  std::vector<float> weights(const Shard& shard) {
    const auto answer = ask<Parameters>(shard, pull_atom_v, kNoVersion);
    const auto values = answer->value->values.at(0).read<float>();
    return {values.begin(), values.end()};
  }

  caf::actor a = client();
  caf::actor b = client();
};

TEST_F(ParameterShard, StepsAgainstTheGradient) {
  const auto shard = start(options());
  join(a, shard, 0);
  const auto result = push_and_commit(a, shard, 0, 1, {1, 0});
  ASSERT_TRUE(result->value) << result->words();
  EXPECT_EQ(result->value->parameters.version, 1u);
  EXPECT_EQ(result->value->learning_rate, 0.5);
  EXPECT_THAT(weights(shard), ElementsAre(0.5f, 1));
}

TEST_F(ParameterShard, LeavesParametersAlreadyPulledAsTheyWere) {
  const auto shard = start(options());
  join(a, shard, 0);
  const auto before = ask<Parameters>(shard, pull_atom_v, kNoVersion);
  push_and_commit(a, shard, 0, 1, {1, 1});
  EXPECT_THAT(before->value->values[0].read<float>(), ElementsAre(1, 1));
}

TEST_F(ParameterShard, AnswersAPullOfTheNewestVersionWithoutValues) {
  const auto shard = start(options());
  EXPECT_TRUE(ask<Parameters>(shard, pull_atom_v, Version{0})->value->values.empty());
  EXPECT_EQ(ask<Parameters>(shard, pull_atom_v, kNoVersion)->value->values.size(), 2u);
}

TEST_F(ParameterShard, WaitsForAllReplicasOfARoundAndUpdatesWithTheMean) {
  const auto shard = start(options());
  join(a, shard, 0);
  join(b, shard, 1);
  const auto first = push_and_commit(a, shard, 0, 1, {1, 2});
  EXPECT_TRUE(first->pending());
  const auto second = push_and_commit(b, shard, 1, 1, {3, 0});
  EXPECT_FALSE(first->pending());
  EXPECT_FALSE(second->pending());
  EXPECT_THAT(weights(shard), ElementsAre(0, 0.5f));
}

TEST_F(ParameterShard, WeighsReplicasByTheirExamples) {
  const auto shard = start(options());
  join(a, shard, 0);
  join(b, shard, 1);
  push_and_commit(a, shard, 0, 1, {1, 0}, 0, 30);
  push_and_commit(b, shard, 1, 1, {0, 0}, 0, 10);
  EXPECT_THAT(weights(shard), ElementsAre(1 - 0.5f * 0.75f, 1));
}

TEST_F(ParameterShard, DoesNotWaitForAReplicaThatLeftOrDied) {
  const auto shard = start(options());
  const auto c = client();
  join(a, shard, 0);
  join(b, shard, 1);
  join(c, shard, 2);
  const auto waiting = push_and_commit(a, shard, 0, 1, {2, 2});
  ask_as<caf::ok_atom>(b, shard, leave_atom_v, std::uint32_t{1});
  EXPECT_TRUE(waiting->pending());
  kill(c);
  ASSERT_TRUE(waiting->value) << waiting->words();
  EXPECT_THAT(weights(shard), ElementsAre(0, 0));
}

TEST_F(ParameterShard, AppliesARepeatedCommitOnce) {
  const auto shard = start(options());
  join(a, shard, 0);
  push_and_commit(a, shard, 0, 1, {1, 1});
  const auto again = push_and_commit(a, shard, 0, 1, {1, 1});
  ASSERT_TRUE(again->value) << again->words();
  EXPECT_EQ(again->value->parameters.version, 1u);
  EXPECT_THAT(weights(shard), ElementsAre(0.5f, 0.5f));
}

TEST_F(ParameterShard, SaysHowStaleASynchronousGradientIsAndGivesTheNewestParameters) {
  const auto shard = start(options());
  join(a, shard, 0);
  push_and_commit(a, shard, 0, 1, {1, 1}, 0);
  push_and_commit(a, shard, 0, 2, {1, 1}, 1);
  const auto late = push_and_commit(a, shard, 0, 3, {1, 1}, 0);
  ASSERT_TRUE(late->value) << late->words();
  EXPECT_EQ(late->value->fate, SetFate::stale);
  EXPECT_EQ(late->value->staleness, 2u);
  EXPECT_EQ(late->value->parameters.version, 2u);
  EXPECT_THAT(weights(shard), ElementsAre(0, 0));
}

TEST_F(ParameterShard, UpdatesAtOnceWhenAsynchronousAndTellsTheStaleness) {
  auto o = options();
  o.policy = "async";
  const auto shard = start(o);
  join(a, shard, 0);
  join(b, shard, 1);
  EXPECT_EQ(push_and_commit(a, shard, 0, 1, {1, 0}, 0)->value->staleness, 0u);
  EXPECT_EQ(push_and_commit(b, shard, 1, 1, {1, 0}, 0)->value->staleness, 1u);
  EXPECT_THAT(weights(shard), ElementsAre(0, 1));
  EXPECT_THAT(ask<ShardStatus>(shard, status_atom_v)->value->staleness.counts, ElementsAre(1, 1));
}

TEST_F(ParameterShard, AddsInTheGivenOrderWhenDeterministic) {
  auto o = options();
  CoordinatorOptions c;
  c.deterministic = true;
  o.schedule = 1.0;
  // In float32, (1 + 1e8) - 1e8 is 0 or 1 depending on the order.
  const auto sum = [&](std::vector<int> arrival) {
    const auto shard = start(o, c);
    std::vector<caf::actor> who{client(), client(), client()};
    const std::vector<float> gradients{3e8f, -3e8f, 3};
    for (std::uint32_t i = 0; i < 3; ++i) join(who[i], shard, i);
    for (const auto i : arrival)
      push_and_commit(who[i], shard, static_cast<std::uint32_t>(i), 1, {gradients[i], 0});
    return weights(shard)[0];
  };
  EXPECT_EQ(sum({0, 1, 2}), sum({2, 1, 0}));
  EXPECT_EQ(sum({0, 1, 2}), sum({1, 2, 0}));
}

TEST_F(ParameterShard, AveragesAssignedValuesOverTheReplicas) {
  const auto shard = start(options());
  join(a, shard, 0);
  join(b, shard, 1);
  const auto assign = [&](const caf::actor& who, std::uint32_t replica, float value) {
    GradientPart part;
    part.kind = PartKind::assignment;
    part.replica = replica;
    part.step = 1;
    part.variable = "mean";
    part.values = Tensor::scalar(value);
    send_as(who, shard, push_atom_v, part);
    ask_as<ApplyResult>(who, shard, commit_atom_v, GradientCommit{replica, 1, 0, 1, 0});
  };
  assign(a, 0, 2);
  assign(b, 1, 4);
  EXPECT_EQ(ask<Parameters>(shard, pull_atom_v, kNoVersion)->value->values[1].item(), 3);
}

TEST_F(ParameterShard, RefusesWhatDoesNotFitAndNamesTheReplica) {
  const auto shard = start(options());
  join(a, shard, 7);
  const auto wrong = push_and_commit(a, shard, 7, 1, {1, 2, 3});
  EXPECT_EQ(wrong->words(),
            "invalid argument: shard 0: replica 7, step 1: variable 'w' has shape [2], but what "
            "was pushed has [3]");
  EXPECT_THAT(weights(shard), ElementsAre(1, 1));
}

TEST_F(ParameterShard, RefusesACommitOfAReplicaThatHasNotJoined) {
  const auto shard = start(options());
  EXPECT_THAT(push_and_commit(a, shard, 3, 1, {1, 1})->words(),
              HasSubstr("replica 3 has not joined"));
}

TEST_F(ParameterShard, RestoresWhatASnapshotHolds) {
  auto o = options();
  o.optimizer = optim::momentum(0.9);
  const auto shard = start(o);
  join(a, shard, 0);
  push_and_commit(a, shard, 0, 1, {1, 1});
  const auto saved = ask<ShardSnapshot>(shard, snapshot_atom_v);
  const auto other = start(o);
  ASSERT_TRUE(ask<caf::ok_atom>(other, restore_atom_v, *saved->value)->value);
  join(a, other, 0);
  push_and_commit(a, shard, 0, 2, {1, 0}, 1);
  push_and_commit(a, other, 0, 2, {1, 0}, 1);
  EXPECT_EQ(weights(shard), weights(other));
}

TEST_F(ParameterShard, RefusesASnapshotThatDoesNotFitAndKeepsWhatItHas) {
  const auto shard = start(options());
  ShardSnapshot wrong;
  wrong.tensors = {{"w", "", Tensor::of<float>({3}, {1, 2, 3})}};
  EXPECT_EQ(ask<caf::ok_atom>(shard, restore_atom_v, wrong)->words(),
            "invalid argument: shard 0: variable 'w' is float32 [2], but the checkpoint has "
            "float32 [3]");
  EXPECT_EQ(ask<caf::ok_atom>(shard, restore_atom_v, ShardSnapshot{})->words(),
            "invalid argument: shard 0: the checkpoint has no variable 'w'");
  EXPECT_THAT(weights(shard), ElementsAre(1, 1));
}

}  // namespace
}  // namespace troupe
