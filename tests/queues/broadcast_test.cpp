#include "troupe/queues/broadcast.h"

#include <gmock/gmock.h>

#include <deque>

#include "support/actor_test.h"
#include "troupe/queues/broadcast_branch.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A keeper that answers, one question after the other, when it is told how many batches have left
/// the pipeline.
using SlowKeeper = PipelineKeeper::extend<caf::reacts_to<snapshot_atom, std::uint64_t>>;

struct SlowKeeperState {
  std::deque<caf::typed_response_promise<PipelineSnapshot>> asked;
};

SlowKeeper::behavior_type slow_keeper(SlowKeeper::stateful_pointer<SlowKeeperState> self) {
  return {
      [self](snapshot_atom) -> caf::result<PipelineSnapshot> {
        auto promise = self->make_response_promise<PipelineSnapshot>();
        self->state.asked.push_back(promise);
        return promise;
      },
      [self](snapshot_atom, std::uint64_t batches) {
        PipelineSnapshot made;
        made.queue.batches = batches;
        auto promise = self->state.asked.front();
        self->state.asked.pop_front();
        promise.deliver(made);
      },
  };
}

/// A broadcast of batches of one number each: 0, 1, 2, ...
class ABroadcast : public test::ActorTest {
 protected:
  ABroadcast() {
    QueueOptions q;
    q.name = "numbers";
    q.capacity = 100;
    q.components.push_back({"", {DType::float32, Shape{}}});
    queue = spawn(fifo_queue, q);
    BroadcastOptions b;
    b.queue = queue;
    b.max_lag = 3;
    b.keeper = keeper = spawn(slow_keeper);
    source = spawn(batch_broadcast, b);
  }

  void put(int count) {
    ElementBlock block;
    for (int i = 0; i < count; ++i)
      block.elements.push_back({Tensor::scalar(static_cast<float>(numbers++))});
    ask<caf::ok_atom>(queue, enqueue_atom_v, block, EnqueueOptions{});
  }
  void close(const CloseReason& reason = {}) {
    ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{false, reason});
  }
  Branch branch(const std::string& name = "branch") {
    const auto made = spawn(broadcast_branch, BranchOptions{name, source, 1, true});
    EXPECT_TRUE(join(made)->value);
    return made;
  }
  std::shared_ptr<test::Answer<std::uint64_t>> join(const Queue& branch) {
    return ask<std::uint64_t>(source, join_atom_v, caf::actor_cast<caf::actor>(branch));
  }
  auto take(const Queue& branch) { return ask<Batch>(branch, dequeue_atom_v, DequeueRequest{}); }
  auto snapshot(const Branch& branch) { return ask<PipelineSnapshot>(branch, snapshot_atom_v); }
  void pipeline_says(std::uint64_t batches) {
    caf::anon_send(keeper, snapshot_atom_v, batches);
    settle();
  }
  static std::vector<float> left(const std::shared_ptr<test::Answer<PipelineSnapshot>>& snapshot) {
    EXPECT_TRUE(snapshot->value) << snapshot->words();
    std::vector<float> numbers;
    if (snapshot->value)
      for (const auto& batch : snapshot->value->left)
        numbers.push_back(batch.components[0].read<float>()[0]);
    return numbers;
  }
  void close_branch(const Branch& branch) {
    ask<caf::ok_atom>(branch, caf::close_atom_v, CloseRequest{true, {Code::cancelled, "enough"}});
  }
  void kill_branch(const Queue& branch) { kill(caf::actor_cast<caf::actor>(branch)); }
  std::uint64_t dequeued() { return ask<QueueStatus>(queue, status_atom_v)->value->dequeued; }

  static float number(const std::shared_ptr<test::Answer<Batch>>& taken) {
    EXPECT_TRUE(taken->value) << taken->words();
    return taken->value ? taken->value->components[0].read<float>()[0] : -1;
  }
  std::vector<float> take(const Queue& branch, int count) {
    std::vector<float> all;
    for (int i = 0; i < count; ++i) all.push_back(number(take(branch)));
    return all;
  }

  int numbers = 0;
  Queue queue;
  SlowKeeper keeper;
  Broadcast source;
};

TEST_F(ABroadcast, GivesEveryBatchToEveryBranch) {
  const auto a = branch(), b = branch();
  put(3);
  EXPECT_THAT(take(a, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(take(b, 3), ElementsAre(0, 1, 2));
  EXPECT_EQ(dequeued(), 3u) << "each was taken out of the queue once";
}

TEST_F(ABroadcast, CopiesNoBatch) {
  const auto a = branch(), b = branch();
  put(1);
  const auto one = take(a), other = take(b);
  ASSERT_TRUE(one->value && other->value);
  EXPECT_EQ(one->value->components[0].read<float>().data(),
            other->value->components[0].read<float>().data());
}

TEST_F(ABroadcast, TakesNothingThatNobodyWants) {
  const auto a = branch();
  put(5);
  EXPECT_EQ(dequeued(), 0u);
  take(a, 1);
  EXPECT_EQ(dequeued(), 1u);
}

TEST_F(ABroadcast, LetsTheFastestBranchWaitForTheSlowest) {
  const auto fast = branch(), slow = branch();
  put(10);
  EXPECT_THAT(take(fast, 3), ElementsAre(0, 1, 2));
  const auto fourth = take(fast);
  EXPECT_TRUE(fourth->pending());
  EXPECT_EQ(dequeued(), 3u);
  take(slow, 1);
  EXPECT_EQ(number(fourth), 3);
}

TEST_F(ABroadcast, BeginsWithTheNextBatchForABranchThatJoinsLater) {
  const auto a = branch();
  put(5);
  take(a, 2);
  const auto late = branch();
  EXPECT_THAT(take(late, 2), ElementsAre(2, 3));
  EXPECT_THAT(take(a, 2), ElementsAre(2, 3));
}

TEST_F(ABroadcast, DoesNotWaitForABranchThatHasDied) {
  const auto fast = branch(), dead = branch();
  put(10);
  take(fast, 3);
  const auto fourth = take(fast);
  EXPECT_TRUE(fourth->pending());
  kill_branch(dead);
  EXPECT_EQ(number(fourth), 3);
}

TEST_F(ABroadcast, DoesNotWaitForABranchThatHasBeenClosed) {
  const auto fast = branch(), left = branch();
  put(10);
  take(fast, 3);
  const auto fourth = take(fast);
  ask<caf::ok_atom>(left, caf::close_atom_v, CloseRequest{true, {Code::cancelled, "had enough"}});
  EXPECT_EQ(number(fourth), 3);
  EXPECT_EQ(take(left)->words(), "cancelled: had enough");
}

TEST_F(ABroadcast, TellsWhoWaitsAtABranchWhyItWasClosed) {
  const auto a = branch();
  const auto waiting = take(a);
  EXPECT_TRUE(waiting->pending());
  ask<caf::ok_atom>(a, caf::close_atom_v, CloseRequest{true, {Code::cancelled, "had enough"}});
  EXPECT_EQ(waiting->words(), "cancelled: had enough");
}

TEST_F(ABroadcast, KeepsABatchThatNobodyIsLeftFor) {
  const auto first = branch();
  const auto lost = take(first);
  kill_branch(first);
  put(2);
  EXPECT_EQ(dequeued(), 1u) << "it was asked for by who is dead";
  EXPECT_THAT(take(branch(), 2), ElementsAre(0, 1));
}

TEST_F(ABroadcast, TellsEachBranchOfTheEndBehindItsLastBatch) {
  const auto a = branch(), b = branch();
  put(2);
  close();
  take(a, 2);
  EXPECT_THAT(take(a)->words(), HasSubstr("out of range"));
  EXPECT_THAT(take(b, 2), ElementsAre(0, 1));
  EXPECT_THAT(take(b)->words(), HasSubstr("out of range"));
  EXPECT_THAT(take(branch())->words(), HasSubstr("out of range"));
}

TEST_F(ABroadcast, PassesTheFailureOfTheStreamOnToAll) {
  const auto a = branch(), b = branch();
  const auto waiting_a = take(a), waiting_b = take(b);
  close({Code::data_loss, "train.txt:7: cut short"});
  EXPECT_THAT(waiting_a->words(), HasSubstr("train.txt:7: cut short"));
  EXPECT_THAT(waiting_b->words(), HasSubstr("train.txt:7: cut short"));
}

TEST_F(ABroadcast, TellsAllWhenTheQueueDies) {
  const auto a = branch();
  kill(caf::actor_cast<caf::actor>(queue));
  EXPECT_FALSE(take(a)->words().empty());
}

TEST_F(ABroadcast, LeavesNobodyWaitingWhenItEnds) {
  const auto a = branch();
  const auto waiting = take(a);
  kill(caf::actor_cast<caf::actor>(source));
  EXPECT_THAT(waiting->words(), HasSubstr("unavailable"));
  EXPECT_FALSE(take(a)->pending());
}

TEST_F(ABroadcast, LeavesNobodyWaitingAtABranchThatEnds) {
  const auto a = branch("left");
  const auto waiting = take(a);
  kill_branch(a);
  EXPECT_THAT(waiting->words(), HasSubstr("branch 'left' has been ended"));
}

TEST_F(ABroadcast, RefusesWhoHasNotJoined) {
  const auto stranger = spawn(broadcast_branch, BranchOptions{"stranger", source, 1});
  EXPECT_THAT(take(stranger)->words(), HasSubstr("must join first"));
  EXPECT_THAT(snapshot(spawn(broadcast_branch, BranchOptions{"other", source, 1}))->words(),
              HasSubstr("must join first"));
  const auto a = branch();
  EXPECT_THAT(join(a)->words(), HasSubstr("has this branch already"));
}

// ---- snapshots -------------------------------------------------------------------------------

TEST_F(ABroadcast, TellsABranchWhatItHasNotHad) {
  const auto fast = branch(), slow = branch();
  put(10);
  take(fast, 3);
  take(slow, 1);
  const auto of_fast = snapshot(fast), of_slow = snapshot(slow);
  EXPECT_TRUE(of_slow->pending());
  pipeline_says(3);
  pipeline_says(3);
  EXPECT_THAT(left(of_fast), ElementsAre());
  EXPECT_THAT(left(of_slow), ElementsAre(1, 2));
  EXPECT_EQ(of_slow->value->next(), 1u);
}

TEST_F(ABroadcast, PutsIntoASnapshotWhatLeavesThePipelineMeanwhile) {
  const auto a = branch(), b = branch();
  put(10);
  take(a, 1);
  const auto of_b = snapshot(b);
  take(a, 2);
  take(b, 2);
  pipeline_says(2);
  EXPECT_THAT(left(of_b), ElementsAre(0, 1)) << "as of the time at which it was asked";
}

TEST_F(ABroadcast, HasASnapshotWaitForABatchThatIsOnItsWay) {
  const auto a = branch();
  const auto first = take(a);
  const auto of_a = snapshot(a);
  pipeline_says(1);
  EXPECT_TRUE(of_a->pending());
  put(1);
  EXPECT_THAT(left(of_a), ElementsAre(0));
}

TEST_F(ABroadcast, SaysThatABatchOfASnapshotIsLost) {
  const auto a = branch();
  const auto first = take(a);
  const auto of_a = snapshot(a);
  pipeline_says(1);
  close({Code::data_loss, "cut short"});
  EXPECT_THAT(of_a->words(), HasSubstr("cut short"));
}

TEST_F(ABroadcast, KeepsForABranchThatIsClosedWhatItHadNotHadThen) {
  const auto stays = branch(), leaves = branch();
  put(10);
  take(stays, 2);
  take(leaves, 1);
  close_branch(leaves);
  EXPECT_THAT(take(stays, 3), ElementsAre(2, 3, 4)) << "nobody waits for it";
  const auto early = snapshot(leaves);
  EXPECT_TRUE(early->pending());
  pipeline_says(4);
  EXPECT_THAT(left(early), ElementsAre(1, 2, 3));
  EXPECT_THAT(left(snapshot(leaves)), ElementsAre(1, 2, 3));
}

TEST_F(ABroadcast, LosesNoBatchThatComesToABranchWhichHasBeenClosed) {
  const auto a = branch();
  take(a);
  caf::anon_send(queue, enqueue_atom_v, ElementBlock{0, {{Tensor::scalar(7.0F)}}},
                 EnqueueOptions{});
  caf::anon_send(a, caf::close_atom_v, CloseRequest{true, {Code::cancelled, "enough"}});
  settle();
  EXPECT_EQ(dequeued(), 1u);
  pipeline_says(1);
  EXPECT_THAT(left(snapshot(a)), ElementsAre(7));
}

TEST_F(ABroadcast, LeavesNobodyWaitingForASnapshot) {
  const auto a = branch(), b = branch();
  const auto of_a = snapshot(a);
  close_branch(b);
  const auto of_b = snapshot(b);
  kill_branch(b);
  EXPECT_THAT(of_b->words(), HasSubstr("has been ended"));
  kill(caf::actor_cast<caf::actor>(source));
  EXPECT_THAT(of_a->words(), HasSubstr("has been ended"));
}

TEST_F(ABroadcast, CountsFromTheNumberThatComesFirst) {
  BroadcastOptions b;
  b.queue = queue;
  b.first = 7;
  source = spawn(batch_broadcast, b);
  const auto a = branch();
  put(2);
  take(a, 1);
  const auto late = spawn(broadcast_branch, BranchOptions{"late", source, 1});
  EXPECT_EQ(join(late)->value, 8u);
  EXPECT_THAT(snapshot(a)->words(), HasSubstr("nobody keeps the pipeline"));
}

TEST_F(ABroadcast, HasBranchesThatOnlyGiveWholeBatches) {
  const auto a = branch("a");
  EXPECT_THAT(ask<Batch>(a, dequeue_atom_v, DequeueRequest{2})->words(),
              HasSubstr("branch 'a' gives whole batches, 1 rows without a time limit, but 2"));
  EXPECT_THAT(ask<Batch>(a, dequeue_atom_v, DequeueRequest{1, false, Timeout(10)})->words(),
              HasSubstr("with a time limit"));
  EXPECT_THAT(ask<caf::ok_atom>(a, enqueue_atom_v, ElementBlock{}, EnqueueOptions{})->words(),
              HasSubstr("nothing can be put in"));
}

}  // namespace
}  // namespace troupe
