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

/// An actor that asks the queue what it is told to, under its own address.
struct Client {
  caf::actor actor;
  std::shared_ptr<test::Answer<caf::ok_atom>> attached =
      std::make_shared<test::Answer<caf::ok_atom>>();
  std::shared_ptr<test::Answer<Batch>> batch = std::make_shared<test::Answer<Batch>>();
};

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

  /// A client does (attach), (dequeue) and (detach, reason) as its test says.
  Client client() {
    Client c;
    c.actor = spawn([queue = queue, attached = c.attached,
                     batch = c.batch](caf::event_based_actor* self) -> caf::behavior {
      const auto keep = [](auto answer, auto value) { answer->value = std::move(value); };
      const auto failed = [](auto answer) {
        return [answer](const caf::error& error) { answer->fault = error; };
      };
      const auto ok = [attached, keep](caf::ok_atom) { keep(attached, caf::ok_atom_v); };
      return {
          [=](attach_atom) {
            self->request(queue, caf::infinite, attach_atom_v).then(ok, failed(attached));
          },
          [=](dequeue_atom, const DequeueRequest& request) {
            self->request(queue, caf::infinite, dequeue_atom_v, request)
                .then([=](const Batch& b) { keep(batch, b); }, failed(batch));
          },
          [=](detach_atom, const CloseReason& reason) {
            self->request(queue, caf::infinite, detach_atom_v, reason).then(ok, failed(attached));
          },
      };
    });
    return c;
  }
  template <class... Words>
  void tell(const Client& c, Words... words) {
    caf::anon_send(c.actor, words...);
    settle();
  }
  void kill(const Client& c, caf::error reason) {
    caf::anon_send(c.actor, caf::exit_msg{c.actor.address(), std::move(reason)});
    settle();
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
  tell(consumer, dequeue_atom_v, DequeueRequest{2});
  enqueue({1});
  EXPECT_EQ(status().size, 0);
  kill(consumer, caf::exit_reason::kill);
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
  tell(first, attach_atom_v);
  tell(second, attach_atom_v);
  EXPECT_EQ(status().producers, 2);
  const auto batch = dequeue(1);
  tell(first, detach_atom_v, CloseReason{});
  EXPECT_TRUE(batch->pending());
  tell(second, detach_atom_v, CloseReason{});
  EXPECT_EQ(code_of(batch->fault), Code::out_of_range);
}

TEST_F(QueueActor, ClosesAtOnceWhenAProducerFails) {
  const auto first = client();
  const auto second = client();
  tell(first, attach_atom_v);
  tell(second, attach_atom_v);
  const auto batch = dequeue(1);
  tell(first, detach_atom_v, CloseReason{Code::data_loss, "a.txt:7: not a number"});
  EXPECT_EQ(code_of(batch->fault), Code::data_loss);
  EXPECT_THAT(batch->words(), HasSubstr("a.txt:7: not a number; therefore FIFOQueue 'examples'"));
  EXPECT_EQ(code_of(enqueue({1})->fault), Code::cancelled);
}

TEST_F(QueueActor, ClosesWithTheFailureOfAProducerThatDies) {
  const auto producer = client();
  tell(producer, attach_atom_v);
  const auto batch = dequeue(1);
  kill(producer, fault(Code::internal, "decoder: out of ideas"));
  EXPECT_EQ(code_of(batch->fault), Code::internal);
  EXPECT_THAT(batch->words(), HasSubstr("a producer of FIFOQueue 'examples' ended without a word: "
                                        "decoder: out of ideas"));
}

TEST_F(QueueActor, TakesNoProducersAfterTheClose) {
  close();
  const auto producer = client();
  tell(producer, attach_atom_v);
  EXPECT_EQ(code_of(producer.attached->fault), Code::cancelled);
}

TEST_F(QueueActor, DoesNotLetAStrangerDetach) {
  const auto stranger = client();
  tell(stranger, detach_atom_v, CloseReason{});
  EXPECT_EQ(code_of(stranger.attached->fault), Code::failed_precondition);
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
