#include "troupe/actors/aggregation/checkpoint_backlog.h"

#include <gmock/gmock.h>

#include <map>

#include "support/actor_test.h"
#include "support/fake_actors.h"
#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/parameters/parameter_shard.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A disk that has written what the test says: keeps all that is to be written.
struct Disk {
  std::vector<Version> snapshots;  ///< that are held in memory
  std::vector<std::string> order;  ///< what came when
  std::map<Version, caf::typed_response_promise<caf::ok_atom>> expected;
};
SnapshotSink::behavior_type snapshots_of(SnapshotSink::pointer, std::shared_ptr<Disk> disk) {
  return {[=](snapshot_atom, const ShardSnapshot& s) {
    disk->snapshots.push_back(s.version);
    disk->order.push_back(text("shard ", s.version));
  }};
}
/// Says when told so that a version is written.
using Book = CheckpointBook::extend<caf::reacts_to<tick_atom, Version>>;
Book::behavior_type book_of(Book::pointer self, std::shared_ptr<Disk> disk) {
  return {[=](snapshot_atom, Version version, const std::vector<ReplicaMemory>& memories) {
            disk->order.push_back(text(memories.size(), " memories ", version));
          },
          [=](expect_atom, Version version) {
            return disk->expected[version] = self->make_response_promise<caf::ok_atom>();
          },
          [=](tick_atom, Version version) { disk->expected.at(version).deliver(caf::ok_atom_v); }};
}

/// Does what the test says, and nothing when it is told to give up.
caf::behavior calm_client(caf::event_based_actor* self) {
  return {[self](const test::Task& task) { task(self); }, [](give_up_atom, Version) {}};
}

/// One shard, of which each `every`-th version is to be kept, and replicas that are the test's.
class ABacklogOfCheckpoints : public test::ActorTest {
 protected:
  ~ABacklogOfCheckpoints() override { disk->expected.clear(); }

  void start(const std::string& policy, std::uint32_t replicas, std::uint64_t every = 1,
             CoordinatorOptions c = {}) {
    c.aggregation.policy = policy;
    c.replicas = replicas;
    c.snapshot_every = every;
    c.listener = spawn(test::report_keeper, reports);
    book = spawn(book_of, disk);
    c.book = caf::actor_cast<CheckpointBook>(book);
    rounds = spawn(coordinator, c);
    shard = spawn(parameter_shard, shard_options(policy, every), spawn(snapshots_of, disk));
    for (std::uint32_t r = 0; r < replicas; ++r) {
      who.push_back(spawn(calm_client));
      ask_as<ApplyResult>(who[r], shard, join_atom_v, r);
    }
  }
  ShardOptions shard_options(const std::string& policy, std::uint64_t every) const {
    ShardOptions o;
    o.variables = {{"w", Tensor::of<float>({1}, {0}), true}};
    o.optimizer = optim::sgd();
    o.schedule = 1.0;
    o.policy = policy;
    o.coordinator = rounds;
    o.snapshot_every = every;
    return o;
  }
  std::shared_ptr<test::Answer<ApplyResult>> push(std::uint32_t replica, std::uint64_t step,
                                                  Version version, float gradient = 1) {
    GradientPart part;
    part.replica = replica;
    part.step = step;
    part.variable = "w";
    part.values = Tensor::of<float>({1}, {gradient});
    send_as(who[replica], shard, push_atom_v, part);
    return ask_as<ApplyResult>(who[replica], shard, commit_atom_v,
                               GradientCommit{replica, step, version, 1, step});
  }
  /// As many steps of replica 0 as are answered, at most `most`.
  std::uint64_t steps(std::uint64_t most) {
    for (std::uint64_t step = version() + 1; step <= most; ++step)
      if (last = push(0, step, step - 1); last->pending()) break;
    return version();
  }
  Version version() { return ask<ShardStatus>(shard, status_atom_v)->value->version; }
  void write(Version version) {
    caf::anon_send(book, tick_atom_v, version);
    settle();
  }

  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  std::shared_ptr<test::Reports> reports = std::make_shared<test::Reports>();
  std::shared_ptr<test::Answer<ApplyResult>> last;
  Book book;
  RememberingCoordinator rounds;
  Shard shard;
  std::vector<caf::actor> who;
};

TEST_F(ABacklogOfCheckpoints, HoldsTrainingBackWhileTwoAreNotWritten) {
  start("sync", 1);
  EXPECT_EQ(steps(100), 2u);
  EXPECT_THAT(disk->snapshots, ElementsAre(1, 2));
  EXPECT_TRUE(last->pending());
}

TEST_F(ABacklogOfCheckpoints, LetsTrainingGoOnWhenOneIsWritten) {
  start("sync", 1);
  steps(100);
  write(1);
  EXPECT_TRUE(last->value);
  EXPECT_THAT(disk->snapshots, ElementsAre(1, 2, 3));
  push(0, 4, 3);
  EXPECT_THAT(disk->snapshots, SizeIs(3));
  write(3);  // and with it all that are older
  EXPECT_THAT(disk->snapshots, SizeIs(4));
  EXPECT_EQ(version(), 4u);
}

TEST_F(ABacklogOfCheckpoints, HoldsNobodyBackBetweenTwoOfThem) {
  start("sync", 1, 10);
  EXPECT_EQ(steps(100), 20u);
  EXPECT_THAT(disk->snapshots, ElementsAre(10, 20));
  write(10);
  EXPECT_EQ(steps(100), 30u);
}

TEST_F(ABacklogOfCheckpoints, GetsWhatReplicasRememberBeforeAnythingElseOfAVersion) {
  start("sync", 1);
  const ReplicaMemory memory{0, 8, 1, {}};
  send_as(client(), rounds, save_atom_v, std::uint32_t{0}, MemoryOfSet{1, memory, memory});
  push(0, 1, 0);
  EXPECT_THAT(disk->order, ElementsAre("1 memories 1", "shard 1"));
}

TEST_F(ABacklogOfCheckpoints, IsToldOfOnce) {
  start("sync", 1, 10);
  EXPECT_EQ(steps(20), 20u);
  EXPECT_THAT(reports->events, IsEmpty());  // nobody has waited for it
  steps(100);
  write(10);
  steps(100);
  write(20);
  ASSERT_THAT(reports->events, SizeIs(1));
  EXPECT_EQ(reports->events[0].step, 20u);
  EXPECT_THAT(reports->events[0].message, HasSubstr("(every 10 steps)"));
  EXPECT_THAT(reports->events[0].message, HasSubstr("training waits for the disk"));
}

TEST_F(ABacklogOfCheckpoints, KeepsTheOrderInWhichSetsHaveCome) {
  start("async", 3);
  push(0, 1, 0);
  push(1, 1, 0);
  const auto a = push(2, 1, 0), b = push(0, 2, 1), c = push(1, 2, 2);
  EXPECT_EQ(version(), 2u);
  write(1);
  EXPECT_EQ(a->value->step, 3u);
  EXPECT_TRUE(b->pending());
  write(2);
  EXPECT_EQ(b->value->step, 4u);
  EXPECT_TRUE(c->pending());
  write(3);
  EXPECT_EQ(c->value->step, 5u);
}

TEST_F(ABacklogOfCheckpoints, HoldsBackSetsThatWaitForTheNormsOfOthers) {
  CoordinatorOptions c;
  c.aggregation.clip_norm = 1;
  start("async", 4, 1, c);
  // All of them come before the norm of the first one is known.
  for (std::uint32_t r = 0; r < 4; ++r)
    caf::anon_send(who[r], test::Task([=, this](caf::event_based_actor* self) {
                     GradientPart part;
                     part.replica = r;
                     part.step = 1;
                     part.variable = "w";
                     part.values = Tensor::of<float>({1}, {1});
                     self->send(shard, push_atom_v, part);
                     self->request(shard, caf::infinite, commit_atom_v,
                                   GradientCommit{r, 1, 0, 1, 1})
                         .then([](const ApplyResult&) {});
                   }));
  settle();
  EXPECT_THAT(disk->snapshots, ElementsAre(1, 2));
  write(1);
  write(2);
  EXPECT_THAT(disk->snapshots, ElementsAre(1, 2, 3, 4));
}

TEST_F(ABacklogOfCheckpoints, LetsReplicasComeAndGoAfterwards) {
  start("sync", 2);
  for (std::uint64_t step = 1; step <= 2; ++step)
    for (std::uint32_t r = 0; r < 2; ++r) push(r, step, step - 1);
  const auto waits = push(0, 3, 2);
  kill(who[1]);
  who[1] = client();
  const auto joins = ask_as<ApplyResult>(who[1], shard, join_atom_v, std::uint32_t{1});
  EXPECT_TRUE(waits->pending());
  EXPECT_TRUE(joins->pending());
  write(1);
  EXPECT_EQ(waits->value->step, 3u);
  EXPECT_TRUE(joins->pending());  // it came after a set that there was room for
  write(2);
  EXPECT_TRUE(joins->value);
}

TEST_F(ABacklogOfCheckpoints, BlamesNoReplicaForTheDisk) {
  CoordinatorOptions c;
  c.aggregation.round_deadline = std::chrono::seconds(1);
  c.aggregation.leave_out_late = true;
  start("ssp:1", 2, 1, c);
  push(0, 1, 0);
  push(0, 2, 1);  // and now it waits for the other one
  push(1, 1, 0);  // which waits for the disk
  advance(std::chrono::seconds(5));
  EXPECT_EQ(version(), 2u);
  write(1);
  advance(std::chrono::milliseconds(500));
  EXPECT_EQ(version(), 3u);
  EXPECT_THAT(reports->events, SizeIs(1));  // of the disk
  const auto status = *ask<AggregationStatus>(rounds, status_atom_v)->value;
  for (const auto& replica : status.replicas) EXPECT_EQ(replica.late, 0u);
}

TEST_F(ABacklogOfCheckpoints, HoldsNobodyBackAfterTheLastStep) {
  CoordinatorOptions c;
  c.max_steps = 2;
  start("sync:backups=1", 3, 1, c);
  for (std::uint64_t step = 1; step <= 2; ++step)
    for (std::uint32_t r = 0; r < 2; ++r) push(r, step, step - 1);
  EXPECT_EQ(version(), 2u);
  const auto late = push(2, 1, 0);
  ASSERT_TRUE(late->value);
  EXPECT_TRUE(late->value->next.finished);
}

TEST_F(ABacklogOfCheckpoints, HoldsNobodyBackWhenTheRunIsToStop) {
  start("sync", 1);
  steps(100);
  send_as(client(), rounds, stop_atom_v);
  EXPECT_TRUE(last->value);
  EXPECT_TRUE(push(0, 4, 3)->value);
}

TEST_F(ABacklogOfCheckpoints, HoldsNobodyBackWhenNobodyWritesAnyMore) {
  start("sync", 1);
  steps(100);
  kill(caf::actor_cast<caf::actor>(book));
  EXPECT_TRUE(last->value);
  EXPECT_TRUE(push(0, 4, 3)->value);
}

TEST_F(ABacklogOfCheckpoints, HoldsNobodyBackForWhatAShardThatDiedDidNotSend) {
  start("sync", 1);
  steps(100);
  // Another one in its place says what it has carried out; whether the versions that are to be
  // kept were sent before, nobody knows.
  const auto copy = spawn(parameter_shard, shard_options("sync", 1), SnapshotSink());
  send_as(client(), rounds, attach_atom_v, std::uint32_t{0}, copy, Version{2}, std::uint64_t{9});
  send_as(client(), rounds, ready_atom_v,
          SetReport{0, GradientCommit{0, 3, 2, 1, 3}, Code::ok, {}, {}, 9});
  EXPECT_EQ(ask<AggregationStatus>(rounds, status_atom_v)->value->version, 3u);
}

}  // namespace
}  // namespace troupe
