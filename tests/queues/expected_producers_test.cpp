#include <gmock/gmock.h>

#include "queues/queue_driver.h"
#include "support/actor_test.h"
#include "troupe/queues/fifo_queue.h"
#include "troupe/queues/staging_area.h"

namespace troupe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A queue that knows who will feed it before they attach.
class ExpectedProducers : public test::ActorTest {
 protected:
  // Whoever still waits is answered, so that every actor can end.
  void TearDown() override { caf::anon_send_exit(queue, caf::exit_reason::user_shutdown); }

  void expect(const std::string& name, const caf::actor& producer) {
    caf::anon_send(queue, expect_atom_v, name, producer);
    settle();
  }
  auto dequeue() { return ask<Batch>(queue, dequeue_atom_v, DequeueRequest{1}); }
  auto attach(const caf::actor& producer) {
    return ask_as<caf::ok_atom>(producer, queue, attach_atom_v);
  }
  auto detach(const caf::actor& producer, const CloseReason& reason = {}) {
    return ask_as<caf::ok_atom>(producer, queue, detach_atom_v, reason);
  }

  static QueueOptions options() {
    QueueOptions options;
    options.name = "q";
    options.producers = 2;
    options.producer_patience = Timeout(5000);
    return options;
  }
  Queue queue = spawn(fifo_queue, options());
  caf::actor a = client();
  caf::actor b = client();
};

TEST_F(ExpectedProducers, AreWaitedForWhileTheyLive) {
  expect("a", a);
  expect("b", b);
  const auto batch = dequeue();
  advance(std::chrono::milliseconds(4999));
  EXPECT_TRUE(batch->pending()) << "they may be starting";
  attach(a);
  advance(std::chrono::hours(1));
  EXPECT_TRUE(batch->pending());
}

TEST_F(ExpectedProducers, AreMissedAtOnceWhenTheyEndBeforeTheyAttach) {
  expect("a", a);
  expect("b", b);
  const auto batch = dequeue();
  kill(b);
  EXPECT_THAT(batch->words(),
              AllOf(StartsWith("unavailable: producer 'b' of FIFOQueue 'q' ended before it "
                               "attached: "),
                    HasSubstr("FIFOQueue 'q' is closed")));
}

TEST_F(ExpectedProducers, AreMissedWhenTheyHaveEndedLongAgo) {
  kill(a);
  expect("a", a);
  EXPECT_THAT(dequeue()->words(), StartsWith("unavailable: producer 'a' of FIFOQueue 'q'"));
}

TEST_F(ExpectedProducers, AreMissedAlsoWhileAnotherOneFeeds) {
  expect("a", a);
  expect("b", b);
  attach(a);
  const auto batch = dequeue();
  kill(b);
  EXPECT_THAT(batch->words(), HasSubstr("producer 'b' of FIFOQueue 'q' ended before"));
}

TEST_F(ExpectedProducers, AreMissedWhenTheyWereNeverSpawned) {
  expect("a", caf::actor());
  EXPECT_THAT(dequeue()->words(),
              StartsWith("failed precondition: FIFOQueue 'q' has no producer 'a': it was never "
                         "spawned"));
  EXPECT_EQ(code_of(attach(b)->fault), Code::cancelled);
}

TEST_F(ExpectedProducers, MaySayThatTheyWillNotCome) {
  expect("a", a);
  const auto batch = dequeue();
  detach(a, {Code::cancelled, "a has been stopped"});
  EXPECT_THAT(batch->words(), StartsWith("cancelled: a has been stopped; therefore"));
}

TEST_F(ExpectedProducers, CountWhenTheyHaveNothing) {
  expect("a", a);
  expect("b", b);
  detach(a);
  const auto batch = dequeue();
  EXPECT_TRUE(batch->pending());
  attach(b);
  detach(b);
  EXPECT_EQ(code_of(batch->fault), Code::out_of_range);
}

TEST_F(ExpectedProducers, KeepTheQueueOpenForThem) {
  expect("a", a);
  expect("b", b);
  const auto c = client();
  for (const auto& quick : {a, c}) {
    attach(quick);
    detach(quick);
  }
  const auto batch = dequeue();
  EXPECT_TRUE(batch->pending()) << "two have been here, but not all who are expected";
}

TEST_F(ExpectedProducers, MayEndOnceTheyHaveDetached) {
  expect("a", a);
  expect("b", b);
  attach(a);
  detach(a);
  kill(a);
  const auto batch = dequeue();
  EXPECT_TRUE(batch->pending());
}

TEST_F(ExpectedProducers, AreNamedWhenPatienceEnds) {
  expect("a", a);
  expect("b", b);
  const auto batch = dequeue();
  advance(std::chrono::milliseconds(5000));
  EXPECT_THAT(batch->words(), HasSubstr("0 of 2 have ever attached, and none did for 5000 ms: has "
                                        "whoever fills it been started? Expected are 'a', 'b'"));
}

TEST_F(ExpectedProducers, MeanNothingToAQueueThatIsClosed) {
  ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{true, {Code::out_of_range, "enough"}});
  expect("a", caf::actor());
  EXPECT_THAT(dequeue()->words(), HasSubstr("enough"));
}

TEST_F(ExpectedProducers, AreKnownToStagingAreasToo) {
  const auto area = spawn(staging_area, options());
  caf::anon_send(area, expect_atom_v, "a", a);
  kill(a);
  EXPECT_THAT(ask<Batch>(area, dequeue_atom_v, DequeueRequest{1})->words(),
              HasSubstr("producer 'a' of StagingArea 'q' ended before it attached"));
}

}  // namespace
}  // namespace troupe
