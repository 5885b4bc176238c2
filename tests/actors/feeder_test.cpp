#include "troupe/actors/training/feeder.h"

#include <gmock/gmock.h>

#include "support/actor_test.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;

/// A queue that gives `batches` batches of the rows 0 1 2 ... and then ends.
Queue::behavior_type counting_queue(Queue::pointer, std::int64_t batches, std::int64_t last_rows) {
  const auto given = std::make_shared<std::int64_t>(0);
  return {
      [](enqueue_atom, const ElementBlock&, const EnqueueOptions&) { return caf::ok_atom_v; },
      [=](dequeue_atom, const DequeueRequest& request) -> caf::result<Batch> {
        if (*given == batches) return fault(Code::out_of_range, "end of data");
        Batch batch;
        batch.sequence = static_cast<std::uint64_t>((*given)++);
        const auto rows = *given == batches ? last_rows : request.count;
        auto values = Tensor::uninitialized(DType::float32, {rows});
        for (std::int64_t i = 0; i < rows; ++i) values.write<float>()[i] = static_cast<float>(i);
        batch.components = {values};
        return batch;
      },
      [](expect_atom, const std::string&, const caf::actor&) {},
      [](attach_atom) { return caf::ok_atom_v; },
      [](detach_atom, const CloseReason&) { return caf::ok_atom_v; },
      [](caf::close_atom, const CloseRequest&) { return caf::ok_atom_v; },
      [](status_atom) { return QueueStatus{}; },
  };
}

/// Says of the pipeline that so many batches have left it, of which those in `left` are not here.
PipelineKeeper::behavior_type keeper_of(PipelineKeeper::pointer, std::uint64_t batches,
                                        std::vector<Batch> left) {
  return {[=](snapshot_atom) {
    PipelineSnapshot made;
    made.queue.batches = batches;
    made.left = left;
    return made;
  }};
}

class AFeeder : public test::ActorTest {
 protected:
  Feeder start(std::uint32_t replicas, bool split, std::int64_t batches,
               std::int64_t last_rows = 4) {
    FeederOptions o;
    o.queue = spawn(counting_queue, batches, last_rows);
    o.batch = 4;
    o.replicas = replicas;
    o.split = split;
    for (std::uint32_t i = 0; i < 3; ++i) who.push_back(client());
    return spawn(feeder, o);
  }
  auto next(const Feeder& source, std::uint32_t replica) {
    return ask_as<Batch>(who.at(replica), source, next_atom_v, replica);
  }
  /// The coordinator says that it has left; these whole sets of it are undecided.
  void leave(const Feeder& source, std::uint32_t replica, std::vector<SettledSet> undecided = {}) {
    caf::anon_send(source, leave_atom_v, replica, who[replica].address(),
                   Settlement{0, std::move(undecided)});
    settle();
  }
  void settle_set(const Feeder& source, SettledSet set) {
    caf::anon_send(source, settle_atom_v, Settlement{1, {set}});
    settle();
  }

  std::vector<caf::actor> who;  ///< by number
};

TEST_F(AFeeder, CutsEachBatchIntoOneShareForEveryReplica) {
  const auto source = start(2, true, 2);
  EXPECT_THAT(next(source, 1)->value->components[0].read<float>(), ElementsAre(2, 3));
  EXPECT_THAT(next(source, 0)->value->components[0].read<float>(), ElementsAre(0, 1));
  EXPECT_EQ(next(source, 0)->value->sequence, 2u);
}

TEST_F(AFeeder, PassesOverBatchesThatWereHad) {
  FeederOptions o;
  o.queue = spawn(counting_queue, 4, 4);
  o.batch = 4;
  o.first_batch = 2;
  o.keeper = spawn(keeper_of, 0, std::vector<Batch>{});
  who.push_back(client());
  const auto source = spawn(feeder, o);
  EXPECT_EQ(ask<DataState>(source, cut_atom_v, AggregationStatus{})->value->first_batch, 2u);
  EXPECT_EQ(next(caf::actor_cast<Feeder>(source), 0)->value->sequence, 2u);
  EXPECT_EQ(next(caf::actor_cast<Feeder>(source), 0)->value->sequence, 3u);
}

TEST_F(AFeeder, KeepsWhatTheOthersOfABroadcastHaveHadAlready) {
  FeederOptions o;
  o.queue = spawn(counting_queue, 4, 4);
  o.batch = 4;
  const auto batch = [](std::uint64_t number) { return Batch{number, {Tensor::scalar(1.0F)}}; };
  o.keeper = spawn(keeper_of, 3, std::vector<Batch>{batch(1), batch(2)});
  who.push_back(client());
  const auto source = spawn(feeder, o);
  next(caf::actor_cast<Feeder>(source), 0);
  const auto state = ask<DataState>(source, cut_atom_v, AggregationStatus{})->value;
  ASSERT_TRUE(state);
  std::vector<std::uint64_t> numbers;
  for (const auto& one : state->outstanding) numbers.push_back(one.batch.sequence);
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2));
  EXPECT_TRUE(state->pipeline.left.empty());
}

TEST_F(AFeeder, GivesEveryReplicaAShareOfTheLastBatchEvenIfItIsEmpty) {
  const auto source = start(2, true, 1, 1);
  EXPECT_EQ(next(source, 0)->value->rows(), 0);
  EXPECT_EQ(next(source, 1)->value->rows(), 1);
}

TEST_F(AFeeder, TellsEveryReplicaThatTheDataHaveEnded) {
  const auto source = start(2, true, 1);
  next(source, 0);
  EXPECT_EQ(next(source, 0)->words(), "out of range: end of data");
  EXPECT_TRUE(next(source, 1)->value);
  EXPECT_EQ(next(source, 1)->words(), "out of range: end of data");
}

TEST_F(AFeeder, HandsOutWholeBatchesWhenItDoesNotSplit) {
  const auto source = start(2, false, 2);
  EXPECT_EQ(next(source, 1)->value->rows(), 4);
  EXPECT_EQ(next(source, 0)->value->sequence, 1u);
}

// ---- what becomes of batches -----------------------------------------------------------------

TEST_F(AFeeder, GivesASuccessorWhatWasLostBeforeAnythingElse) {
  const auto source = start(2, false, 4);
  next(source, 0);
  next(source, 1);
  next(source, 0);
  leave(source, 0);
  who[0] = client();
  EXPECT_EQ(next(source, 0)->value->sequence, 0u);
  EXPECT_EQ(next(source, 0)->value->sequence, 2u);
  EXPECT_EQ(next(source, 0)->value->sequence, 3u);
}

TEST_F(AFeeder, LetsASuccessorWaitUntilItIsSureThatTheOneBeforeIsLost) {
  const auto source = start(1, false, 2);
  next(source, 0);
  const auto before = who[0];
  who[0] = client();
  const auto first = next(source, 0);
  EXPECT_TRUE(first->pending());
  caf::anon_send(source, leave_atom_v, std::uint32_t{0}, before.address(), Settlement{});
  settle();
  ASSERT_TRUE(first->value) << first->words();
  EXPECT_EQ(first->value->sequence, 0u);
}

TEST_F(AFeeder, LetsASuccessorWaitForTheFateOfWholeSets) {
  const auto source = start(1, false, 2);
  next(source, 0);
  next(source, 0);
  leave(source, 0, {{0, 0, 1}});
  who[0] = client();
  const auto refused = next(source, 0);
  EXPECT_TRUE(refused->pending());
  settle_set(source, {0, 0, 1, SetFate::given_up});
  ASSERT_TRUE(refused->value) << refused->words();
  EXPECT_EQ(refused->value->sequence, 0u);
  EXPECT_EQ(next(source, 0)->value->sequence, 1u);
}

TEST_F(AFeeder, SaysThatTheDataHaveEndedOnlyWhenNothingIsUndecided) {
  const auto source = start(1, false, 1);
  next(source, 0);
  EXPECT_TRUE(next(source, 0)->fault);
  leave(source, 0, {{0, 0, 1}});
  who[0] = client();
  const auto last = next(source, 0);
  EXPECT_TRUE(last->pending());
  settle_set(source, {0, 0, 1, SetFate::applied});
  EXPECT_EQ(last->words(), "out of range: end of data");
}

TEST_F(AFeeder, GivesNothingToOneThatHasLeft) {
  const auto source = start(1, false, 1);
  leave(source, 0);
  EXPECT_THAT(next(source, 0)->words(), ::testing::HasSubstr("has left"));
}

TEST_F(AFeeder, KeepsABatchForTheNextWhenWhoeverAskedHasLeft) {
  Queue::behavior_type (*slow)(Queue::pointer,
                               std::shared_ptr<caf::typed_response_promise<Batch>>) =
      [](Queue::pointer self,
         std::shared_ptr<caf::typed_response_promise<Batch>> promise) -> Queue::behavior_type {
    return {
        [](enqueue_atom, const ElementBlock&, const EnqueueOptions&) { return caf::ok_atom_v; },
        [=](dequeue_atom, const DequeueRequest&) -> caf::result<Batch> {
          *promise = self->make_response_promise<Batch>();
          return *promise;
        },
        [](expect_atom, const std::string&, const caf::actor&) {},
        [](attach_atom) { return caf::ok_atom_v; },
        [](detach_atom, const CloseReason&) { return caf::ok_atom_v; },
        [=](caf::close_atom, const CloseRequest&) {
          promise->deliver(Batch{5, {Tensor(DType::float32, {1})}});
          return caf::ok_atom_v;
        },
        [](status_atom) { return QueueStatus{}; },
    };
  };
  FeederOptions o;
  const auto promise = std::make_shared<caf::typed_response_promise<Batch>>();
  o.queue = spawn(slow, promise);
  o.replicas = 2;
  const auto source = spawn(feeder, o);
  who = {client(), client()};
  next(source, 0);
  leave(source, 0);
  ask<caf::ok_atom>(o.queue, caf::close_atom_v, CloseRequest{});
  const auto other = next(source, 1);
  ASSERT_TRUE(other->value) << other->words();
  EXPECT_EQ(other->value->sequence, 5u);
}

TEST_F(AFeeder, AnswersWhatIsLeftOfOneOnceItIsKnownToHaveLeft) {
  const auto source = start(2, false, 3);
  next(source, 1);
  next(source, 0);
  const auto left = ask<LedgerStatus>(source, ledger_atom_v, std::uint32_t{1}, who[1].address());
  EXPECT_TRUE(left->pending());
  leave(source, 1);
  ASSERT_TRUE(left->value) << left->words();
  ASSERT_EQ(left->value->outstanding.size(), 1u);
  EXPECT_EQ(left->value->outstanding[0].batch.sequence, 0u);
}

// ---- who gets batches ------------------------------------------------------------------------

TEST_F(AFeeder, CutsForOneMoreAsSoonAsItHasJoined) {
  const auto source = start(1, true, 2);
  EXPECT_EQ(next(source, 0)->value->rows(), 4);
  const auto other = next(source, 1);
  EXPECT_TRUE(other->pending());  // it is no member yet
  caf::anon_send(source, join_atom_v, std::uint32_t{1});
  settle();
  ASSERT_TRUE(other->value) << other->words();
  EXPECT_THAT(other->value->components[0].read<float>(), ElementsAre(2, 3));
  EXPECT_THAT(next(source, 0)->value->components[0].read<float>(), ElementsAre(0, 1));
}

TEST_F(AFeeder, GivesOneThatIsDetachedWhatIsItsOwnAndThenTheEnd) {
  const auto source = start(2, true, 3);
  next(source, 0);  // of batch 0, which replica 1 has a share of
  caf::anon_send(source, detach_atom_v, std::uint32_t{1});
  settle();
  EXPECT_EQ(next(source, 1)->value->rows(), 2);
  EXPECT_THAT(next(source, 1)->words(), ::testing::HasSubstr("out of range: replica 1 gets no"));
  EXPECT_EQ(next(source, 0)->value->rows(), 4);
}

}  // namespace
}  // namespace troupe
