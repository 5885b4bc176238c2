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

class Feeder : public test::ActorTest {
 protected:
  BatchSource start(std::uint32_t replicas, bool split, std::int64_t batches,
                    std::int64_t last_rows = 4) {
    FeederOptions o;
    o.queue = spawn(counting_queue, batches, last_rows);
    o.batch = 4;
    o.replicas = replicas;
    o.split = split;
    return spawn(feeder, o);
  }
  auto next(const BatchSource& source, std::uint32_t replica) {
    return ask<Batch>(source, next_atom_v, replica);
  }
};

TEST_F(Feeder, CutsEachBatchIntoOneShareForEveryReplica) {
  const auto source = start(2, true, 2);
  EXPECT_THAT(next(source, 1)->value->components[0].read<float>(), ElementsAre(2, 3));
  EXPECT_THAT(next(source, 0)->value->components[0].read<float>(), ElementsAre(0, 1));
  EXPECT_EQ(next(source, 0)->value->sequence, 2u);
}

TEST_F(Feeder, GivesEveryReplicaAShareOfTheLastBatchEvenIfItIsEmpty) {
  const auto source = start(2, true, 1, 1);
  EXPECT_EQ(next(source, 0)->value->rows(), 0);
  EXPECT_EQ(next(source, 1)->value->rows(), 1);
}

TEST_F(Feeder, TellsEveryReplicaThatTheDataHaveEnded) {
  const auto source = start(2, true, 1);
  next(source, 0);
  EXPECT_EQ(next(source, 0)->words(), "out of range: end of data");
  EXPECT_TRUE(next(source, 1)->value);
  EXPECT_EQ(next(source, 1)->words(), "out of range: end of data");
}

TEST_F(Feeder, HandsOutWholeBatchesWhenItDoesNotSplit) {
  const auto source = start(2, false, 2);
  EXPECT_EQ(next(source, 1)->value->rows(), 4);
  EXPECT_EQ(next(source, 0)->value->sequence, 1u);
}

}  // namespace
}  // namespace troupe
