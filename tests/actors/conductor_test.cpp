#include "troupe/actors/training/conductor.h"

#include <gmock/gmock.h>

#include "support/actor_test.h"
#include "support/fake_actors.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What the fake actors of a run were asked for.
struct Script {
  int stops = 0;
  int saves = 0;
  int evaluations = 0;
  std::vector<double> evaluation_losses{0.5};
  caf::typed_response_promise<std::uint64_t> replica_done;
  caf::error failure;
};

Replica::behavior_type fake_replica(Replica::pointer self, std::shared_ptr<Script> script) {
  return {
      [=](start_atom) -> caf::result<std::uint64_t> {
        script->replica_done = self->make_response_promise<std::uint64_t>();
        return script->replica_done;
      },
      [=](stop_atom) {
        if (script->stops++ == 0 && script->replica_done.pending())
          script->replica_done.deliver(std::uint64_t{0});
        return caf::ok_atom_v;
      },
      [](give_up_atom, Version) {},
      [](redirect_atom, std::uint32_t, const Shard&) {},
      [](status_atom) { return StageStatus{}; },
      // The test's way to end the replica, from inside the actor.
      [=](output_atom, std::uint64_t, std::uint32_t, const Tensor&) {
        if (script->failure)
          script->replica_done.deliver(script->failure);
        else
          script->replica_done.deliver(std::uint64_t{1});
      },
  };
}

Shard::behavior_type fake_shard(Shard::pointer) {
  return {
      [](pull_atom, Version) { return Parameters{}; },
      [](pull_atom, const RowPull&) { return PulledRows{}; },
      [](mirror_atom, const ShardCopy&) { return caf::ok_atom_v; },
      [](log_atom, const ShardEntry&) { return caf::ok_atom_v; },
      [](mirror_atom, const std::vector<ShardMirror>&) {},
      [](mirror_atom) { return ShardCopy{}; },
      [](cancel_atom, std::uint64_t) { return caf::ok_atom_v; },
      [](promote_atom) {},
      [](push_atom, const GradientPart&) {},
      [](commit_atom, const GradientCommit&) { return ApplyResult{}; },
      [](join_atom, std::uint32_t) { return ApplyResult{}; },
      [](leave_atom, std::uint32_t) { return caf::ok_atom_v; },
      [](decide_atom, const RoundDecision&) {},
      [](norm_atom, double) {},
      [](snapshot_atom) {
        return ShardSnapshot{0, 7, {}};
      },
      [](restore_atom, const ShardSnapshot&) { return caf::ok_atom_v; },
      [](status_atom) { return ShardStatus{}; },
  };
}

Evaluator::behavior_type fake_evaluator(Evaluator::pointer, std::shared_ptr<Script> script) {
  return {[=](run_atom) {
    const auto& losses = script->evaluation_losses;
    const auto index = std::min<std::size_t>(script->evaluations++, losses.size() - 1);
    return EvaluationResult{1, 10, {losses[index]}};
  }};
}

Checkpointer::behavior_type fake_checkpointer(Checkpointer::pointer,
                                              std::shared_ptr<Script> script) {
  return {
      [](snapshot_atom, const ShardSnapshot&) {},
      [=](save_atom, const std::vector<ShardSnapshot>& snapshots) {
        ++script->saves;
        return SavedCheckpoint{snapshots.at(0).version, "run/ckpt-7"};
      },
  };
}

Queue::behavior_type fake_queue(Queue::pointer) {
  return {
      [](enqueue_atom, const ElementBlock&, const EnqueueOptions&) { return caf::ok_atom_v; },
      [](dequeue_atom, const DequeueRequest&) { return Batch{}; },
      [](expect_atom, const std::string&, const caf::actor&) {},
      [](attach_atom) { return caf::ok_atom_v; },
      [](detach_atom, const CloseReason&) { return caf::ok_atom_v; },
      [](caf::close_atom, const CloseRequest&) { return caf::ok_atom_v; },
      [](status_atom) { return QueueStatus{}; },
  };
}

class AConductor : public test::ActorTest {
 protected:
  AConductor() {
    options->replicas = {{"replica 0", spawn(fake_replica, script)}};
    options->shards = {spawn(fake_shard)};
    options->examples = spawn(fake_queue);
    options->checkpointer = spawn(fake_checkpointer, script);
    options->names = {"loss"};
    options->max_steps = 100;
    options->progress = [this](const Progress& p) { progress.push_back(p); };
  }
  void start() {
    leader = spawn(conductor, std::shared_ptr<const ConductorOptions>(options));
    outcome = ask<TrainingOutcome>(leader, start_atom_v);
  }
  void step(std::uint64_t number, double loss) {
    StepReport report;
    report.step = number;
    report.examples = 10;
    report.values = {loss};
    caf::anon_send(leader, report_atom_v, report);
    settle();
  }
  void replica_ends(std::size_t index = 0) {
    caf::anon_send(options->replicas[index].second, output_atom_v, std::uint64_t{0},
                   std::uint32_t{0}, Tensor());
    settle();
  }

  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::shared_ptr<ConductorOptions> options = std::make_shared<ConductorOptions>();
  std::vector<Progress> progress;
  Conductor leader;
  std::shared_ptr<test::Answer<TrainingOutcome>> outcome;
};

TEST_F(AConductor, EndsWithTheLastReplicaAndACheckpoint) {
  start();
  step(1, 0.9);
  step(100, 0.3);
  EXPECT_TRUE(outcome->pending());
  replica_ends();
  ASSERT_TRUE(outcome->value) << outcome->words();
  EXPECT_EQ(outcome->value->ending, Ending::steps_done);
  EXPECT_EQ(outcome->value->steps, 100u);
  EXPECT_EQ(outcome->value->examples, 20);
  EXPECT_EQ(outcome->value->checkpoint, "run/ckpt-7");
  EXPECT_THAT(outcome->value->training, ElementsAre(0.3));
  EXPECT_TRUE(progress.back().last);
}

TEST_F(AConductor, CallsItTheEndOfTheDataWhenStepsAreMissing) {
  start();
  step(3, 0.9);
  replica_ends();
  EXPECT_EQ(outcome->value->ending, Ending::end_of_data);
}

TEST_F(AConductor, StopsAtTheGoal) {
  options->evaluator = spawn(fake_evaluator, script);
  options->evaluate_every = 1;
  options->stop_below = 0.2;
  script->evaluation_losses = {0.5, 0.1};
  start();
  step(1, 0.9);
  EXPECT_TRUE(outcome->pending());
  step(2, 0.8);
  ASSERT_TRUE(outcome->value) << outcome->words();
  EXPECT_EQ(outcome->value->ending, Ending::goal_met);
  EXPECT_THAT(outcome->value->evaluation, ElementsAre(0.1));
}

TEST_F(AConductor, StopsWhenAskedAndSaves) {
  start();
  step(1, 0.9);
  ask<caf::ok_atom>(leader, stop_atom_v);
  ASSERT_TRUE(outcome->value) << outcome->words();
  EXPECT_EQ(outcome->value->ending, Ending::stopped);
  EXPECT_EQ(script->saves, 1);
}

/// Begins an evaluation and never ends it.
Evaluator::behavior_type endless_evaluator(Evaluator::pointer self) {
  const auto promises =
      std::make_shared<std::vector<caf::typed_response_promise<EvaluationResult>>>();
  return {[=](run_atom) -> caf::result<EvaluationResult> {
    promises->push_back(self->make_response_promise<EvaluationResult>());
    return promises->back();
  }};
}

TEST_F(AConductor, SavesBeforeTheLastEvaluationSoThatNothingIsLostDuringIt) {
  options->evaluator = spawn(endless_evaluator);
  start();
  step(100, 0.3);
  replica_ends();
  EXPECT_TRUE(outcome->pending());
  EXPECT_EQ(script->saves, 1);
}

TEST_F(AConductor, KeepsTheCheckpointWhenTheLastEvaluationFails) {
  options->evaluator = spawn([](Evaluator::pointer) -> Evaluator::behavior_type {
    return {[](run_atom) -> caf::result<EvaluationResult> {
      return fault(Code::data_loss, "t10k-labels.gz: the file ends in the middle of a record");
    }};
  });
  start();
  step(100, 0.3);
  replica_ends();
  ASSERT_TRUE(outcome->value) << outcome->words();
  EXPECT_EQ(outcome->value->ending, Ending::failed);
  EXPECT_THAT(outcome->value->message, HasSubstr("t10k-labels.gz"));
  EXPECT_EQ(outcome->value->checkpoint, "run/ckpt-7");
}

TEST_F(AConductor, GivesUpTheLastEvaluationWhenAskedToStop) {
  options->evaluator = spawn(endless_evaluator);
  start();
  step(100, 0.3);
  replica_ends();
  EXPECT_TRUE(outcome->pending());
  ask<caf::ok_atom>(leader, stop_atom_v);
  ASSERT_TRUE(outcome->value) << outcome->words();
  EXPECT_EQ(outcome->value->ending, Ending::stopped);
  EXPECT_EQ(script->saves, 1);
}

TEST_F(AConductor, NamesReplicaAndStepOfALossThatIsNotANumberAndKeepsNoSuchWeights) {
  start();
  step(5, std::numeric_limits<double>::quiet_NaN());
  ASSERT_TRUE(outcome->value) << outcome->words();
  EXPECT_EQ(outcome->value->ending, Ending::failed);
  EXPECT_THAT(outcome->value->message, HasSubstr("the loss is nan at step 5 (replica 0"));
  EXPECT_EQ(script->saves, 0);
}

TEST_F(AConductor, TellsTheFirstFailureAndKeepsTheWeights) {
  start();
  step(1, 0.9);
  script->failure = fault(Code::data_loss, "a.txt:7: 3 fields, but 15 are needed");
  replica_ends();
  ASSERT_TRUE(outcome->value) << outcome->words();
  EXPECT_EQ(outcome->value->code, Code::data_loss);
  EXPECT_EQ(outcome->value->message, "a.txt:7: 3 fields, but 15 are needed");
  EXPECT_EQ(script->saves, 1);
}

TEST_F(AConductor, EndsWhenAnActorDiesAndSaysWhich) {
  const auto extra = client();
  options->watched = {{"shuffle queue", extra}};
  start();
  kill(extra);
  ASSERT_TRUE(outcome->value) << outcome->words();
  EXPECT_EQ(outcome->value->ending, Ending::failed);
  EXPECT_THAT(outcome->value->message, HasSubstr("shuffle queue ended"));
}

TEST_F(AConductor, AddsUpTheReportsOfAllReplicasOfAStep) {
  const auto second = std::make_shared<Script>();
  options->replicas.emplace_back("replica 1", spawn(fake_replica, second));
  start();
  step(1, 1.0);
  step(1, 2.0);
  replica_ends(0);
  replica_ends(1);
  EXPECT_THAT(outcome->value->training, ElementsAre(1.5));
}

}  // namespace
}  // namespace troupe
