#include "troupe/actors/training/replica.h"

#include <gmock/gmock.h>

#include "support/actor_test.h"
#include "support/fake_actors.h"
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

  Shard shard(bool synchronous = true) {
    ShardOptions o;
    o.variables = {{"w", Tensor::of<float>({1}, {10}), true}};
    o.optimizer = optim::sgd();
    o.schedule = 1.0;
    o.synchronous = synchronous;
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
  const auto s = shard();
  auto o = options({batch(0, {1}), batch(1, {1}), batch(2, {1})}, s);
  o.max_steps = 2;
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
  ask_as<Parameters>(client(), s, join_atom_v, std::uint32_t{1});
  const auto taken = std::make_shared<int>(0);
  auto o = options({}, s);
  o.batches = spawn([taken](BatchSource::pointer) -> BatchSource::behavior_type {
    return {
        [taken](next_atom, std::uint32_t) {
          ++*taken;
          return batch(0, {1});
        },
        [](status_atom) { return StageStatus{}; },
    };
  });
  o.prefetch = 3;
  const auto r = spawn(replica, o);
  start(r);
  EXPECT_EQ(*taken, 1 + 3);
}

TEST_F(AReplica, LeavesItsShardsWhenItIsDone) {
  const auto s = shard();
  start(spawn(replica, options({batch(0, {1})}, s)));
  EXPECT_EQ(ask<ShardStatus>(s, status_atom_v)->value->replicas, 0);
}

}  // namespace
}  // namespace troupe
