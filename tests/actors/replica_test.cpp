#include "troupe/actors/training/replica.h"

#include <gmock/gmock.h>

#include <functional>
#include <utility>

#include "support/actor_test.h"
#include "support/fake_actors.h"
#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/parameters/parameter_shard.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// One variable w of one value; the gradient is the mean of the batch, the loss w.
class AReplica : public test::ActorTest {
 protected:
  static Batch batch(std::uint64_t sequence, std::vector<float> rows) {
    const auto count = static_cast<std::int64_t>(rows.size());
    return {sequence, {Tensor::of<float>({count}, rows)}};
  }
  static test::FakeRun mean_gradient(const TensorList& feeds) {
    float sum = 0;
    for (const float x : feeds.at(0).read<float>()) sum += x;
    const auto count = static_cast<float>(feeds.at(0).size());
    return {{Tensor::scalar(static_cast<float>(feeds.at(1).item()))},
            {Tensor::of<float>({1}, {sum / count})},
            {}};
  }

  Shard shard(CoordinatorOptions c = {}) {
    ShardOptions o;
    o.coordinator = rounds = spawn(coordinator, c);
    o.policy = c.aggregation.policy;
    o.variables = {{"w", Tensor::of<float>({1}, {10}), true}};
    o.optimizer = optim::sgd();
    o.schedule = 1.0;
    return spawn(parameter_shard, o, SnapshotSink());
  }
  ReplicaOptions options(std::vector<Batch> batches, const Shard& shard) {
    ReplicaOptions o;
    o.fragment.inputs = 1;
    o.fragment.variables = {"w"};
    o.fragment.parts = {{"w", PartKind::gradient, false}};
    o.fragment.values = {"loss"};
    o.batches =
        spawn(test::listed_batches, std::move(batches), fault(Code::out_of_range, "end of data"));
    o.device = spawn(test::fake_device, test::FakeKernel(mean_gradient), false);
    o.shards = {shard};
    o.listener = spawn(test::report_keeper, reports);
    return o;
  }
  auto start(const Replica& replica) { return ask<std::uint64_t>(replica, start_atom_v); }
  double weight(const Shard& shard) {
    return ask<Parameters>(shard, pull_atom_v, kNoVersion)->value->values[0].item();
  }

  Coordinator rounds;
  std::shared_ptr<test::Reports> reports = std::make_shared<test::Reports>();
};

TEST_F(AReplica, TrainsOnEveryBatchAndAnswersTheNumberOfSteps) {
  const auto s = shard();
  const auto r = spawn(replica, options({batch(0, {1, 3}), batch(1, {4})}, s));
  const auto steps = start(r);
  ASSERT_TRUE(steps->value) << steps->words();
  EXPECT_EQ(*steps->value, 2u);
  EXPECT_EQ(weight(s), 10 - 2 - 4);
}

TEST_F(AReplica, ReportsStepExamplesAndLoss) {
  const auto s = shard();
  start(spawn(replica, options({batch(0, {1, 3}), batch(1, {4})}, s)));
  ASSERT_EQ(reports->steps.size(), 2u);
  EXPECT_EQ(reports->steps[0].step, 1u);
  EXPECT_EQ(reports->steps[0].examples, 2);
  EXPECT_THAT(reports->steps[0].values, ElementsAre(10));
  EXPECT_THAT(reports->steps[1].values, ElementsAre(8));
}

TEST_F(AReplica, WaitsForGradientsThatArriveAfterTheResult) {
  const auto s = shard();
  auto o = options({batch(0, {1}), batch(1, {1})}, s);
  o.device = spawn(test::fake_device, test::FakeKernel(mean_gradient), true);
  start(spawn(replica, o));
  EXPECT_EQ(weight(s), 8);
}

TEST_F(AReplica, StopsAfterTheGivenNumberOfUpdates) {
  CoordinatorOptions c;
  c.max_steps = 2;
  const auto s = shard(c);
  const auto o = options({batch(0, {1}), batch(1, {1}), batch(2, {1})}, s);
  EXPECT_EQ(*start(spawn(replica, o))->value, 2u);
  EXPECT_EQ(weight(s), 8);
}

TEST_F(AReplica, TakesPartInARoundWithoutExamples) {
  const auto s = shard();
  auto empty = options({{0, {Tensor(DType::float32, {0})}}}, s);
  auto other = options({batch(0, {5})}, s);
  other.index = 1;
  const auto a = spawn(replica, empty);
  const auto b = spawn(replica, other);
  const auto first = start(a);
  const auto second = start(b);
  EXPECT_FALSE(first->pending());
  EXPECT_FALSE(second->pending());
  EXPECT_EQ(weight(s), 5);
}

TEST_F(AReplica, TwoWithHalfTheBatchDoWhatOneDoesWithTheWhole) {
  const auto whole = shard();
  start(spawn(replica, options({batch(0, {1, 3, 5, 7})}, whole)));
  const auto shared = shard();
  auto left = options({batch(0, {1, 3})}, shared);
  auto right = options({batch(1, {5, 7})}, shared);
  right.index = 1;
  const auto a = spawn(replica, left);
  const auto b = spawn(replica, right);
  // Both join before either commits: nobody runs until settle().
  auto done = std::make_shared<int>(0);
  for (const auto& r : {a, b})
    system.spawn([=](caf::event_based_actor* self) {
      self->request(r, caf::infinite, start_atom_v).then([=](std::uint64_t) { ++*done; });
    });
  settle();
  EXPECT_EQ(*done, 2);
  EXPECT_EQ(weight(shared), weight(whole));
}

TEST_F(AReplica, FailsWithTheWordsOfTheDevice) {
  const auto s = shard();
  auto o = options({batch(0, {1})}, s);
  o.device = spawn(
      test::fake_device, test::FakeKernel([](const TensorList&) {
        return test::FakeRun{{}, {}, fault(Code::invalid_argument, "node 'x' (gather): row 9")};
      }),
      false);
  EXPECT_EQ(start(spawn(replica, o))->words(),
            "invalid argument: replica 0: node 'x' (gather): row 9");
}

TEST_F(AReplica, FailsWithTheCauseWhenTheDataFail) {
  const auto s = shard();
  auto o = options({}, s);
  o.batches = spawn(test::listed_batches, std::vector<Batch>{},
                    fault(Code::data_loss, "a.txt:7:3: not a number"));
  EXPECT_THAT(start(spawn(replica, o))->words(), HasSubstr("a.txt:7:3: not a number"));
}

TEST_F(AReplica, TakesAsManyBatchesAheadAsItIsTold) {
  const auto s = shard();
  // Another replica that never commits keeps this one in its first step.
  ask_as<ApplyResult>(client(), s, join_atom_v, std::uint32_t{1});
  const auto taken = std::make_shared<int>(0);
  auto o = options({}, s);
  o.batches = spawn([taken](BatchSource::pointer) -> BatchSource::behavior_type {
    return {
        [taken](next_atom, std::uint32_t) {
          ++*taken;
          return batch(0, {1});
        },
        [](assign_atom, bool) {},
        [](status_atom) { return StageStatus{}; },
    };
  });
  o.prefetch = 3;
  const auto r = spawn(replica, o);
  start(r);
  EXPECT_EQ(*taken, 1 + 3);
}

// ---- several batches in a set ----------------------------------------------------------------

TEST_F(AReplica, AddsUpBatchesAsIfTheyWereOneLargeBatch) {
  CoordinatorOptions c;
  c.aggregation.accumulate = 2;
  const auto s = shard(c);
  start(spawn(replica,
              options({batch(0, {1, 2, 3}), batch(1, {8}), batch(2, {2}), batch(3, {2})}, s)));
  EXPECT_FLOAT_EQ(static_cast<float>(weight(s)), 10 - 14.0f / 4 - 2);
  ASSERT_EQ(reports->steps.size(), 2u);
  EXPECT_EQ(reports->steps[0].examples, 4);
  EXPECT_EQ(reports->steps[1].step, 2u);
}

TEST_F(AReplica, PushesWhatItHasAddedUpAtTheEndOfTheData) {
  CoordinatorOptions c;
  c.aggregation.accumulate = 3;
  const auto s = shard(c);
  start(spawn(replica, options({batch(0, {1}), batch(1, {3})}, s)));
  EXPECT_FLOAT_EQ(static_cast<float>(weight(s)), 10 - 2);
}

TEST_F(AReplica, MakesLocalStepsAndPushesWhereTheyEnd) {
  CoordinatorOptions c;
  c.aggregation.policy = "local:2";
  const auto s = shard(c);
  auto o = options({batch(0, {1}), batch(1, {2}), batch(2, {4})}, s);
  o.optimizer = optim::sgd();
  o.learning_rate = 1.0;
  start(spawn(replica, o));
  EXPECT_FLOAT_EQ(static_cast<float>(weight(s)), 10 - 1 - 2 - 4);
  ASSERT_EQ(reports->steps.size(), 2u);
  EXPECT_EQ(reports->steps[0].step, 2u);
  EXPECT_THAT(reports->steps[0].values, ElementsAre((10 + 9) / 2.0));
  EXPECT_EQ(reports->steps[1].step, 3u);
}

// ---- sets that come too late -----------------------------------------------------------------

/// A device that answers when the test says so.
struct Held {
  std::vector<std::function<void()>> runs;
  void go_on() {
    auto all = std::exchange(runs, {});
    for (const auto& run : all) run();
  }
};
Device::behavior_type held_device(Device::pointer self, std::shared_ptr<Held> held,
                                  test::FakeKernel kernel) {
  return {
      [](load_atom, const FragmentSpec&) { return FragmentId{1}; },
      [](run_atom, FragmentId, std::uint64_t, const TensorList&) { return RunResult{}; },
      [=](run_atom, FragmentId, std::uint64_t, const TensorList& feeds, const OutputSink& sink,
          std::uint64_t tag) -> caf::result<RunResult> {
        auto promise = self->make_response_promise<RunResult>();
        held->runs.push_back([=]() mutable {
          const auto run = kernel(feeds);
          for (std::uint32_t i = 0; i < run.streamed.size(); ++i)
            caf::anon_send(sink, output_atom_v, tag, i, run.streamed[i]);
          promise.deliver(RunResult{run.fetches, {}});
        });
        return promise;
      },
      [](unload_atom, FragmentId) { return caf::ok_atom_v; },
      [](status_atom) { return DeviceStatus{}; },
  };
}

/// A slow replica and a fast one, one of which is a backup.
class ASlowReplica : public AReplica {
 protected:
  ASlowReplica() {
    CoordinatorOptions c;
    c.aggregation.policy = "sync:backups=1";
    c.replicas = 2;
    shared = shard(c);
    auto o = options({batch(0, {1}), batch(1, {2})}, shared);
    device = spawn(held_device, held, test::FakeKernel(mean_gradient));
    o.device = device;
    slow = start(spawn(replica, o));
    fast = client();
    joined = ask_as<ApplyResult>(fast, shared, join_atom_v, std::uint32_t{1});
  }
  void fast_step(std::uint64_t step, Version version) {
    GradientPart part;
    part.replica = 1;
    part.step = step;
    part.variable = "w";
    part.values = Tensor::of<float>({1}, {5});
    send_as(fast, shared, push_atom_v, part);
    ask_as<ApplyResult>(fast, shared, commit_atom_v, GradientCommit{1, step, version, 1, 0});
  }
  void device_goes_on() {
    held->go_on();
    settle();
  }

  std::shared_ptr<Held> held = std::make_shared<Held>();
  Device device;
  Shard shared;
  caf::actor fast;
  std::shared_ptr<test::Answer<std::uint64_t>> slow;
  std::shared_ptr<test::Answer<ApplyResult>> joined;
};

TEST_F(ASlowReplica, GivesUpWhatWouldComeTooLateAndComputesTheBatchAgain) {
  fast_step(1, 0);
  EXPECT_EQ(weight(shared), 5);
  ASSERT_EQ(held->runs.size(), 1u);  // the device is still at it
  device_goes_on();
  EXPECT_EQ(weight(shared), 5);  // for nothing
  EXPECT_TRUE(reports->steps.empty());
  ask_as<caf::ok_atom>(fast, shared, leave_atom_v, std::uint32_t{1});
  device_goes_on();
  EXPECT_EQ(weight(shared), 5 - 1);
  device_goes_on();
  EXPECT_EQ(weight(shared), 5 - 1 - 2);
  EXPECT_TRUE(slow->value) << slow->words();
  ASSERT_EQ(reports->steps.size(), 2u);
  EXPECT_EQ(reports->steps[0].step, 2u);
}

/// A shard for which the first set comes too late.
Shard::behavior_type strict_shard(Shard::pointer, std::shared_ptr<std::vector<double>> pushed) {
  const auto commits = std::make_shared<int>(0);
  return {
      [](pull_atom, Version) { return Parameters{}; },
      [](pull_atom, const RowPull&) { return PulledRows{}; },
      [](mirror_atom, const ShardCopy&) { return caf::ok_atom_v; },
      [](log_atom, const ShardEntry&) { return caf::ok_atom_v; },
      [](mirror_atom, const std::vector<ShardMirror>&) {},
      [](mirror_atom) { return ShardCopy{}; },
      [](cancel_atom, std::uint64_t) { return caf::ok_atom_v; },
      [](promote_atom) {},
      [=](push_atom, const GradientPart& part) { pushed->push_back(part.values.item()); },
      [=](commit_atom, const GradientCommit&) {
        ApplyResult result;
        result.fate = (*commits)++ == 0 ? SetFate::stale : SetFate::applied;
        result.parameters = {1, {}, {Tensor::of<float>({1}, {10})}, {}};
        result.next.may_be_refused = true;
        return result;
      },
      [](join_atom, std::uint32_t) {
        ApplyResult result;
        result.parameters = {0, {"w"}, {Tensor::of<float>({1}, {10})}, {}};
        result.next.may_be_refused = true;
        return result;
      },
      [](leave_atom, std::uint32_t) { return caf::ok_atom_v; },
      [](decide_atom, const RoundDecision&) {},
      [](norm_atom, double) {},
      [](snapshot_atom) { return ShardSnapshot{}; },
      [](restore_atom, const ShardSnapshot&) { return caf::ok_atom_v; },
      [](status_atom) { return ShardStatus{}; },
  };
}

TEST_F(AReplica, ComputesABatchAgainWhoseSetWasRefused) {
  const auto pushed = std::make_shared<std::vector<double>>();
  const auto s = spawn(strict_shard, pushed);
  start(spawn(replica, options({batch(0, {1}), batch(1, {2})}, s)));
  EXPECT_THAT(*pushed, ElementsAre(1, 1, 2));
  EXPECT_EQ(reports->steps.size(), 2u);
}

TEST_F(AReplica, LeavesItsShardsWhenItIsDone) {
  const auto s = shard();
  start(spawn(replica, options({batch(0, {1})}, s)));
  EXPECT_EQ(ask<ShardStatus>(s, status_atom_v)->value->replicas, 0);
}

}  // namespace
}  // namespace troupe
