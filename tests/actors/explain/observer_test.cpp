#include "troupe/actors/explain/observer.h"

#include <gmock/gmock.h>

#include "support/actor_test.h"
#include "troupe/actors/explain/activity.h"
#include "troupe/actors/explain/explanation.h"
#include "troupe/messages/stage_clock.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A stage that has done the same thing since its birth, by the clock of the test.
using Stage = caf::typed_actor<caf::replies_to<status_atom>::with<StageStatus>,
                               caf::reacts_to<run_atom>, caf::reacts_to<start_atom>>;
struct StageState {
  StageActivity doing = StageActivity::idle;
  caf::actor_clock::time_point since;
};
Stage::behavior_type stage(Stage::stateful_pointer<StageState> self,
                           std::function<void(Stage::stateful_pointer<StageState>)> work) {
  self->state.since = self->clock().now();
  return {
      [self](status_atom) {
        StageStatus status;
        const auto time = self->clock().now() - self->state.since;
        if (self->state.doing == StageActivity::waiting_for_input) status.waiting_for_input = time;
        if (self->state.doing == StageActivity::waiting_for_output)
          status.waiting_for_output = time;
        return status;
      },
      [self, work](run_atom) { work(self); },
      [](start_atom) {},
  };
}

/// Never answers.
caf::behavior deaf(caf::event_based_actor* self) {
  const auto promises = std::make_shared<std::vector<caf::response_promise>>();
  return {[=](status_atom) -> caf::result<StageStatus> {
    promises->push_back(self->make_response_promise());
    return caf::delegated<StageStatus>();
  }};
}

class AnObserver : public test::ActorTest {
 protected:
  template <class Handle>
  void observe(const std::string& name, Role role, const Handle& actor) {
    options.topology.nodes.push_back({name, role});
    options.actors.push_back(caf::actor_cast<caf::actor>(actor));
  }
  void link(std::size_t from, std::size_t to) { options.topology.links.push_back({from, to}); }
  void start() {
    options.stalled = [this](const std::string& words) { told.push_back(words); };
    watcher = spawn(observer, options);
    ask<caf::ok_atom>(watcher, start_atom_v);
  }
  void wait(int how_long) {
    for (int i = 0; i < how_long; ++i) advance(seconds(1));
  }
  ObservationsPtr seen() { return *ask<ObservationsPtr>(watcher, status_atom_v)->value; }

  Queue fifo(const std::string& name, std::int64_t capacity) {
    QueueOptions o;
    o.name = name;
    o.capacity = capacity;
    return spawn(fifo_queue, o);
  }

  static ElementBlock elements(int count) {
    ElementBlock block;
    for (int i = 0; i < count; ++i) block.elements.push_back({Tensor::of<float>({1}, {1})});
    return block;
  }

  ObserverOptions options;
  Observer watcher;
  std::vector<std::string> told;
};

TEST_F(AnObserver, FindsTheCycleOfTwoActorsAndTwoQueues) {
  const auto x = fifo("x", 8);
  const auto y = fifo("y", 4);
  // Fills x before it gives anything to y.
  const auto a = spawn(stage, [=](auto self) {
    self->request(x, caf::infinite, attach_atom_v).then([](caf::ok_atom) {});
    self->request(y, caf::infinite, attach_atom_v).then([](caf::ok_atom) {});
    self->state.doing = StageActivity::waiting_for_output;
    self->request(x, caf::infinite, enqueue_atom_v, elements(9), EnqueueOptions{})
        .then([=](caf::ok_atom) {
          self->request(y, caf::infinite, enqueue_atom_v, elements(1), EnqueueOptions{})
              .then([](caf::ok_atom) {});
        });
  });
  // Wants something from y before it takes anything from x.
  const auto b = spawn(stage, [=](auto self) {
    self->state.doing = StageActivity::waiting_for_input;
    self->request(y, caf::infinite, dequeue_atom_v, DequeueRequest{}).then([=](const Batch&) {
      self->request(x, caf::infinite, dequeue_atom_v, DequeueRequest{}).then([](const Batch&) {});
    });
  });
  observe("a", Role::decoder, a);
  observe("b", Role::feeder, b);
  observe("x", Role::queue, x);
  observe("y", Role::queue, y);
  for (const std::size_t queue : {2, 3}) {
    link(0, queue);
    link(queue, 1);
  }
  caf::anon_send(a, run_atom_v);
  caf::anon_send(b, run_atom_v);
  settle();
  start();
  wait(9);
  EXPECT_THAT(told, IsEmpty());
  wait(3);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0], HasSubstr("nothing has moved for 10 s: cycle: a waits for room in queue 'x' "
                                 "(8 of 8), whose only consumer b waits for an element of queue "
                                 "'y' (0 of 4), whose only producer a"));
  ASSERT_THAT(seen()->stalls, SizeIs(1));
  wait(20);
  EXPECT_THAT(told, SizeIs(1));  // once
}

TEST_F(AnObserver, FindsAQueueWhoseProducerNeverAttached) {
  const auto queue = fifo("examples", 100);
  const auto decoder = spawn(stage, [](auto) {});
  const auto feeder = spawn(stage, [=](auto self) {
    self->state.doing = StageActivity::waiting_for_input;
    self->request(queue, caf::infinite, dequeue_atom_v, DequeueRequest{})
        .then([](const Batch&) {}, [](const caf::error&) {});
  });
  observe("decoder 0", Role::decoder, decoder);
  observe("examples", Role::queue, queue);
  observe("feeder", Role::feeder, feeder);
  link(0, 1);
  link(1, 2);
  caf::anon_send(feeder, run_atom_v);
  settle();
  start();
  wait(12);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0], HasSubstr("queue 'examples' (0 of 100) has no producer: decoder 0 ended or "
                                 "never started; 1 dequeue waits for ever"));
}

TEST_F(AnObserver, NamesWhoeverDoesNotAnswerWhenNothingMoves) {
  observe("reader", Role::reader, spawn(deaf));
  start();
  wait(12);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0], HasSubstr("reader has been in the middle of a read for 1"));
}

TEST_F(AnObserver, IsQuietWhileElementsMove) {
  const auto queue = fifo("examples", 100);
  observe("examples", Role::queue, queue);
  start();
  for (int i = 0; i < 15; ++i) {
    ask<caf::ok_atom>(queue, enqueue_atom_v, elements(1), EnqueueOptions{});
    wait(1);
  }
  EXPECT_THAT(told, IsEmpty());
  EXPECT_THAT(seen()->stalls, IsEmpty());
}

TEST_F(AnObserver, LooksMoreOftenInTheFirstSeconds) {
  observe("examples", Role::queue, fifo("examples", 100));
  start();
  for (int i = 0; i < 8; ++i) advance(std::chrono::milliseconds(250));
  EXPECT_THAT(seen()->samples, SizeIs(9));
  for (int i = 0; i < 8; ++i) advance(std::chrono::milliseconds(250));
  EXPECT_THAT(seen()->samples, SizeIs(11));
}

TEST_F(AnObserver, ForgetsEverySecondSampleOfALongRun) {
  observe("examples", Role::queue, fifo("examples", 100));
  start();
  wait(1000);
  const auto observed = seen();
  EXPECT_LT(observed->samples.size(), 128u);
  EXPECT_GT(observed->samples.size(), 32u);
  EXPECT_EQ(observed->samples.front().at, seconds(0));
  EXPECT_GE(observed->samples.back().at, seconds(999));
}

TEST_F(AnObserver, GoesOnWithoutThoseWhoHaveEnded) {
  const auto queue = fifo("examples", 100);
  observe("examples", Role::queue, queue);
  observe("other", Role::queue, fifo("other", 100));
  start();
  kill(caf::actor_cast<caf::actor>(queue));
  wait(5);
  EXPECT_GE(seen()->samples.back().at, seconds(4));
}

/// Has passed on so many records since its birth.
caf::behavior counting_stage(caf::event_based_actor*, std::shared_ptr<std::uint64_t> records) {
  return {[=](status_atom) {
    StageStatus status;
    status.records = *records;
    return status;
  }};
}

/// Was pushed to so many times.
caf::behavior counting_shard(caf::event_based_actor*, std::shared_ptr<std::uint64_t> pushes) {
  return {[=](status_atom) {
    ShardStatus status;
    status.pushes = *pushes;
    return status;
  }};
}

ShardKeeper::behavior_type keeper_with(ShardKeeper::pointer, Shard copy,
                                       std::shared_ptr<std::vector<std::uint32_t>> asked) {
  return {[](attach_atom, std::uint32_t, const Replica&) { return caf::ok_atom_v; },
          [=](redirect_atom, std::uint32_t shard, const caf::actor_addr&) {
            asked->push_back(shard);
            return copy;
          }};
}

TEST_F(AnObserver, LooksAtReplicasThatComeWhileARunGoesOn) {
  const auto first = std::make_shared<std::uint64_t>(0);
  const auto second = std::make_shared<std::uint64_t>(0);
  observe("feeder", Role::feeder, spawn(stage, [](auto) {}));
  observe("replica 0", Role::replica, spawn(counting_stage, first));
  observe("shard 0", Role::shard, spawn(counting_shard, first));
  link(0, 1);
  link(1, 2);
  start();
  wait(10);
  caf::anon_send(watcher, assign_atom_v, std::string("replica 1"), spawn(counting_stage, second),
                 std::string("replica 0"));
  settle();
  for (int i = 0; i < 10; ++i) {
    *first += 5;
    *second += 7;
    wait(1);
  }
  const auto observed = seen();
  ASSERT_EQ(observed->topology.nodes.size(), 4u);
  EXPECT_EQ(observed->topology.nodes[3].name, "replica 1");
  EXPECT_EQ(observed->topology.nodes[3].role, Role::replica);
  EXPECT_EQ(observed->topology.before(3), std::vector<std::size_t>{0});
  EXPECT_EQ(observed->topology.behind(3), std::vector<std::size_t>{2});
  for (const auto& sample : observed->samples) EXPECT_EQ(sample.nodes.size(), 4u);
  // Its rate is that since it came.
  const auto activity = activity_between(observed->samples.front(), observed->samples.back());
  EXPECT_NEAR(activity.nodes[3].records, 7, 1);
  EXPECT_NEAR(activity.nodes[1].records, 2.5, 0.5);
  const auto table = activity_table(explain(*observed, RunSettings()));
  EXPECT_THAT(table, HasSubstr("replica 1"));
}

TEST_F(AnObserver, LooksAtTheShardOfAReplicaThatJoinsAnAllReduce) {
  const auto first = std::make_shared<std::uint64_t>(0);
  const auto second = std::make_shared<std::uint64_t>(0);
  observe("replica 0", Role::replica, spawn(counting_stage, first));
  observe("shard 0", Role::shard, spawn(counting_shard, first));
  link(0, 1);
  start();
  wait(10);
  caf::anon_send(watcher, assign_atom_v, std::string("shard 1"), spawn(counting_shard, second),
                 std::string("shard 0"));
  settle();
  for (int i = 0; i < 10; ++i) {
    *second += 7;
    wait(1);
  }
  const auto observed = seen();
  ASSERT_EQ(observed->topology.nodes.size(), 3u);
  EXPECT_EQ(observed->topology.nodes[2].role, Role::shard);
  const auto activity = activity_between(observed->samples.front(), observed->samples.back());
  EXPECT_TRUE(activity.nodes[2].known);
  EXPECT_NEAR(activity.nodes[2].load.pushes, 7, 1);
  EXPECT_THAT(activity_table(explain(*observed, RunSettings())),
              AllOf(HasSubstr("shard 1"), HasSubstr("7 pushes/s"), Not(HasSubstr("no answer"))));
}

TEST_F(AnObserver, GoesOnCountingWhenSomebodyTakesAPlace) {
  const auto first = std::make_shared<std::uint64_t>(30);
  const auto second = std::make_shared<std::uint64_t>(0);
  const auto replica = spawn(counting_stage, first);
  observe("replica 0", Role::replica, replica);
  start();
  wait(5);
  kill(replica);
  wait(1);
  caf::anon_send(watcher, assign_atom_v, std::string("replica 0"), spawn(counting_stage, second),
                 std::string("replica 0"));
  settle();
  *second = 4;
  wait(2);
  const auto last = seen()->samples.back().nodes.at(0).status;
  EXPECT_EQ(std::get<StageStatus>(last).records, 34u);
}

TEST_F(AnObserver, AsksTheCopyOfAShardThatDied) {
  const auto first = std::make_shared<std::uint64_t>(30);
  const auto second = std::make_shared<std::uint64_t>(0);
  const auto asked = std::make_shared<std::vector<std::uint32_t>>();
  const auto shard = spawn(counting_shard, first);
  const auto copy = spawn(counting_shard, second);
  observe("shard 0", Role::shard, spawn(counting_shard, first));
  observe("other", Role::queue, fifo("other", 100));
  observe("shard 1", Role::shard, shard);
  options.keeper = spawn(keeper_with, caf::actor_cast<Shard>(copy), asked);
  start();
  wait(5);
  kill(shard);
  wait(2);
  EXPECT_EQ(*asked, std::vector<std::uint32_t>{1});
  *second = 4;
  wait(2);
  const auto now = seen()->samples.back();
  EXPECT_EQ(std::get<ShardStatus>(now.nodes.at(2).status).pushes, 34u);
  EXPECT_EQ(now.nodes.at(2).silent, seconds(0));
  EXPECT_GT(now.nodes.at(2).at, seconds(8));
}

TEST_F(AnObserver, GoesOnWithoutAShardThatNobodyReplaces) {
  const auto pushes = std::make_shared<std::uint64_t>(30);
  const auto shard = spawn(counting_shard, pushes);
  observe("shard 0", Role::shard, shard);
  observe("other", Role::queue, fifo("other", 100));
  start();
  wait(5);
  kill(shard);
  wait(5);
  EXPECT_GE(seen()->samples.back().at, seconds(9));
  EXPECT_EQ(seen()->samples.back().nodes.at(0).silent, seconds(0));
}

}  // namespace
}  // namespace troupe
