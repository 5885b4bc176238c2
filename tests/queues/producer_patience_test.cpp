#include <gmock/gmock.h>

#include "queues/queue_driver.h"
#include "support/actor_test.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

using ::testing::StartsWith;

class QueueWithoutProducers : public test::ActorTest {
 protected:
  auto dequeue() { return ask<Batch>(queue, dequeue_atom_v, DequeueRequest{1}); }

  static QueueOptions options() {
    QueueOptions options;
    options.name = "q";
    options.producers = 2;
    options.producer_patience = Timeout(5000);
    return options;
  }
  Queue queue = spawn(fifo_queue, options());
};

TEST_F(QueueWithoutProducers, TellsWhoeverWaitsThatNobodyFillsIt) {
  const auto batch = dequeue();
  advance(std::chrono::milliseconds(4999));
  EXPECT_TRUE(batch->pending());
  advance(std::chrono::milliseconds(1));
  EXPECT_THAT(batch->words(),
              StartsWith("failed precondition: FIFOQueue 'q' has no producer: 0 of 2 have ever "
                         "attached"));
}

TEST_F(QueueWithoutProducers, WaitsForThemAsLongAsItIsToldTo) {
  const auto batch = dequeue();
  advance(std::chrono::milliseconds(4999));
  const auto producer = client();
  ask_as<caf::ok_atom>(producer, queue, attach_atom_v);
  advance(std::chrono::hours(1));
  EXPECT_TRUE(batch->pending());
}

TEST_F(QueueWithoutProducers, CountsFromTheTimeWhenTheLastOneLeft) {
  const auto producer = client();
  ask_as<caf::ok_atom>(producer, queue, attach_atom_v);
  const auto batch = dequeue();
  advance(std::chrono::hours(1));
  ask_as<caf::ok_atom>(producer, queue, detach_atom_v, CloseReason{});
  EXPECT_TRUE(batch->pending()) << "another producer is expected";
  advance(std::chrono::milliseconds(5000));
  EXPECT_THAT(batch->words(), ::testing::HasSubstr("1 of 2 have ever attached"));
}

TEST_F(QueueWithoutProducers, GivesWhatIsInside) {
  ask<caf::ok_atom>(queue, enqueue_atom_v, test::block_of({7}), EnqueueOptions{});
  EXPECT_TRUE(dequeue()->value);
}

}  // namespace
}  // namespace troupe
