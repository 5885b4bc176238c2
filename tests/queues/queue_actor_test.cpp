#include "troupe/queues/queue_actor.h"

#include <gmock/gmock.h>

#include "queues/queue_driver.h"
#include "support/actor_test.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class QueueActor : public test::ActorTest {
 protected:
  // Whoever still waits is answered, so that every actor can end.
  void TearDown() override { caf::anon_send_exit(queue, caf::exit_reason::user_shutdown); }

  auto enqueue(const std::vector<std::int64_t>& values, const EnqueueOptions& options = {}) {
    return ask<caf::ok_atom>(queue, enqueue_atom_v, test::block_of(values), options);
  }
  auto dequeue(std::int64_t count, Timeout timeout = kForever) {
    return ask<Batch>(queue, dequeue_atom_v, DequeueRequest{count, false, timeout});
  }
  auto close() { return ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{}); }
  QueueStatus status() { return *ask<QueueStatus>(queue, status_atom_v)->value; }

  auto attach(const caf::actor& producer) {
    return ask_as<caf::ok_atom>(producer, queue, attach_atom_v);
  }
  auto detach(const caf::actor& producer, const CloseReason& reason = {}) {
    return ask_as<caf::ok_atom>(producer, queue, detach_atom_v, reason);
  }

  static QueueOptions options() {
    QueueOptions options;
    options.name = "examples";
    options.capacity = 3;
    return options;
  }
  Queue queue = spawn(fifo_queue, options());
};

TEST_F(QueueActor, AnswersWhenThereIsSomethingToAnswer) {
  const auto batch = dequeue(2);
  EXPECT_TRUE(batch->pending());
  EXPECT_FALSE(enqueue({1, 2, 3, 4, 5})->pending());
  EXPECT_THAT(test::numbers(*batch->value), ElementsAre(1, 2));
  const auto writer = enqueue({6});
  EXPECT_TRUE(writer->pending());
  dequeue(1);
  EXPECT_FALSE(writer->pending());
}

TEST_F(QueueActor, StacksComponentsAlongANewFirstAxis) {
  const auto tensor = [](float a, float b) { return Tensor::of<float>({2}, {a, b}); };
  const ElementBlock block{0, {{tensor(1, 2), tensor(3, 4)}, {tensor(5, 6), tensor(7, 8)}}};
  ask<caf::ok_atom>(queue, enqueue_atom_v, block, EnqueueOptions{});
  const auto batch = *dequeue(2)->value;
  ASSERT_EQ(batch.components.size(), 2u);
  EXPECT_EQ(batch.rows(), 2);
  EXPECT_EQ(batch.components[0], Tensor::of<float>({2, 2}, {1, 2, 5, 6}));
  EXPECT_EQ(batch.components[1], Tensor::of<float>({2, 2}, {3, 4, 7, 8}));
  EXPECT_EQ(dequeue(0)->value->components[0].shape(), Shape({0, 2}));
}

TEST_F(QueueActor, StacksLargeBatchesToo) {
  constexpr std::int64_t kValues = 100'000;
  const ElementBlock block{0,
                           {{Tensor::filled(DType::float32, {kValues}, 1)},
                            {Tensor::filled(DType::float32, {kValues}, 2)}}};
  ask<caf::ok_atom>(queue, enqueue_atom_v, block, EnqueueOptions{});
  const auto batch = *dequeue(2)->value;
  EXPECT_EQ(batch.components[0].slice(0, 1), Tensor::filled(DType::float32, {1, kValues}, 1));
  EXPECT_EQ(batch.components[0].slice(1, 2), Tensor::filled(DType::float32, {1, kValues}, 2));
}

TEST_F(QueueActor, DoesNotCopyTheTensorsOfAnElement) {
  const Element element{Tensor::of<float>({2}, {1, 2})};
  ask<caf::ok_atom>(queue, enqueue_atom_v, ElementBlock{0, {element}}, EnqueueOptions{});
  EXPECT_FALSE(element[0].unique());
  dequeue(1);
  EXPECT_TRUE(element[0].unique());
}

TEST_F(QueueActor, KeepsDeadlinesItself) {
  enqueue({1});
  const auto batch = dequeue(2, milliseconds(50));
  const auto later = dequeue(2, milliseconds(70));
  advance(milliseconds(49));
  EXPECT_TRUE(batch->pending());
  advance(milliseconds(1));
  EXPECT_EQ(code_of(batch->fault), Code::deadline_exceeded);
  EXPECT_TRUE(later->pending());
  advance(milliseconds(20));
  EXPECT_EQ(code_of(later->fault), Code::deadline_exceeded);
  EXPECT_EQ(status().size, 1);
}

TEST_F(QueueActor, DropsAConsumerThatDiesAndKeepsTheElements) {
  const auto consumer = client();
  ask_as<Batch>(consumer, queue, dequeue_atom_v, DequeueRequest{2});
  enqueue({1});
  EXPECT_EQ(status().size, 0);
  kill(consumer);
  EXPECT_EQ(status().size, 1);
  EXPECT_EQ(status().waiting_dequeues, 0);
  EXPECT_THAT(test::numbers(*dequeue(1)->value), ElementsAre(1));
}

TEST_F(QueueActor, WaitsForElementsFedByHand) {
  const auto batch = dequeue(1);
  EXPECT_TRUE(batch->pending());
  EXPECT_EQ(status().producers, 0);
}

TEST_F(QueueActor, ClosesWhenItsLastProducerDetaches) {
  const auto first = client();
  const auto second = client();
  attach(first);
  attach(second);
  EXPECT_EQ(status().producers, 2);
  const auto batch = dequeue(1);
  detach(first);
  EXPECT_TRUE(batch->pending());
  detach(second);
  EXPECT_EQ(code_of(batch->fault), Code::out_of_range);
}

TEST_F(QueueActor, WaitsForTheProducersThatAreToCome) {
  auto two = options();
  two.producers = 2;
  queue = spawn(fifo_queue, two);
  const auto quick = client();
  attach(quick);
  detach(quick);
  EXPECT_FALSE(status().closed);
  const auto slow = client();
  attach(slow);
  detach(slow);
  EXPECT_TRUE(status().closed);
}

TEST_F(QueueActor, ClosesAtOnceWhenAProducerFails) {
  const auto first = client();
  const auto second = client();
  attach(first);
  attach(second);
  const auto batch = dequeue(1);
  detach(first, CloseReason{Code::data_loss, "a.txt:7: not a number"});
  EXPECT_EQ(code_of(batch->fault), Code::data_loss);
  EXPECT_THAT(batch->words(), HasSubstr("a.txt:7: not a number; therefore FIFOQueue 'examples'"));
  EXPECT_EQ(code_of(enqueue({1})->fault), Code::cancelled);
}

TEST_F(QueueActor, ClosesWithTheFailureOfAProducerThatDies) {
  const auto producer = client();
  attach(producer);
  const auto batch = dequeue(1);
  const auto reason = fault(Code::internal, "decoder: out of ideas");
  caf::anon_send(producer, caf::exit_msg{producer.address(), reason});
  settle();
  EXPECT_EQ(code_of(batch->fault), Code::internal);
  EXPECT_THAT(batch->words(), HasSubstr("a producer of FIFOQueue 'examples' ended without a word: "
                                        "decoder: out of ideas"));
}

TEST_F(QueueActor, TakesNoProducersAfterTheClose) {
  close();
  const auto producer = client();
  EXPECT_EQ(code_of(attach(producer)->fault), Code::cancelled);
}

TEST_F(QueueActor, DoesNotLetAStrangerDetach) {
  EXPECT_EQ(code_of(detach(client())->fault), Code::failed_precondition);
}

TEST_F(QueueActor, ClosesInTimeAndNamesTheActorsThatItGaveUp) {
  enqueue({1, 2, 3});
  const auto writer = client();
  const auto block =
      ask_as<caf::ok_atom>(writer, queue, enqueue_atom_v, test::block_of({4, 5}), EnqueueOptions{});
  const auto closing =
      ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{false, {}, milliseconds(20)});
  EXPECT_TRUE(closing->pending());
  advance(milliseconds(20));
  EXPECT_EQ(code_of(block->fault), Code::cancelled);
  EXPECT_EQ(code_of(closing->fault), Code::deadline_exceeded);
  EXPECT_THAT(closing->words(), HasSubstr(text("(of actors ", writer.id(), ")")));
}

TEST_F(QueueActor, IsClosedFromTheStartWhenItsOptionsAreWrong) {
  auto wrong = options();
  wrong.capacity = 0;
  queue = spawn(fifo_queue, wrong);
  EXPECT_THAT(dequeue(1)->words(),
              StartsWith("invalid argument: FIFOQueue 'examples': capacity is 0"));
  EXPECT_THAT(enqueue({1})->words(), HasSubstr("capacity is 0"));
  EXPECT_TRUE(status().closed);
}

TEST_F(QueueActor, AnswersEverybodyWhenItEnds) {
  const auto reader = dequeue(5);
  const auto writer = enqueue({1, 2, 3});
  enqueue({4});
  enqueue({5, 6, 7, 8});
  const auto blocked = enqueue({9});
  const auto second = dequeue(100);
  EXPECT_TRUE(second->pending());
  caf::anon_send_exit(queue, caf::exit_reason::user_shutdown);
  settle();
  EXPECT_THAT(second->words(), StartsWith("cancelled: FIFOQueue 'examples' has been stopped"));
}

TEST_F(QueueActor, ReportsItsCounters) {
  enqueue({1, 2, 3});
  dequeue(2);
  const auto s = status();
  EXPECT_EQ(s.name, "examples");
  EXPECT_EQ(s.size, 1);
  EXPECT_EQ(s.capacity, 3);
  EXPECT_EQ(s.bytes, 8u);
  EXPECT_EQ(s.enqueued, 3u);
  EXPECT_EQ(s.dequeued, 2u);
  EXPECT_FALSE(s.closed);
}

}  // namespace
}  // namespace troupe
