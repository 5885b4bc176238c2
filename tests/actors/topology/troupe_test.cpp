#include "troupe/actors/topology/troupe.h"

#include <gmock/gmock.h>

#include <caf/response_promise.hpp>
#include <caf/stateful_actor.hpp>

#include "support/message_of.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

TEST(TroupeTest, SharesAQueueBetweenTwoTopologies) {
  Troupe troupe(ThreadBudget{2, 1});
  QueueOptions options;
  options.capacity = 2;
  const auto one = troupe.shared().fifo_queue({"examples"}, options);
  const auto other = troupe.shared().fifo_queue({"examples"}, options);
  ElementBlock block;
  block.elements.push_back({Tensor::scalar<std::int64_t>(7)});
  constexpr std::chrono::minutes kPatience{1};
  troupe.ask<caf::ok_atom>(one, kPatience, enqueue_atom_v, block, EnqueueOptions{});
  const auto batch = troupe.ask<Batch>(other, kPatience, dequeue_atom_v, DequeueRequest{});
  EXPECT_EQ(batch.components[0], Tensor::of<std::int64_t>({1}, {7}));
}

TEST(TroupeTest, EndsItsSharedQueues) {
  Troupe troupe(ThreadBudget{2, 1});
  troupe.shared().fifo_queue({"examples"}, {});
  EXPECT_TRUE(troupe.stop(std::chrono::minutes(1)).empty());
}

TEST(TroupeTest, HasGuestsWithMembersOfTheirOwn) {
  constexpr std::chrono::minutes kPatience{1};
  Troupe host(ThreadBudget{2, 1});
  const auto shared = host.spawn("shared", fifo_queue, QueueOptions{});
  {
    Troupe guest(host);
    const auto own = guest.spawn("own", fifo_queue, QueueOptions{});
    guest.ask<QueueStatus>(own, kPatience, status_atom_v);
    guest.ask<QueueStatus>(shared, kPatience, status_atom_v);
    EXPECT_TRUE(guest.stop(kPatience).empty());
    EXPECT_THROW(host.ask<QueueStatus>(own, kPatience, status_atom_v), Error);
  }
  host.ask<QueueStatus>(shared, kPatience, status_atom_v);
  EXPECT_TRUE(host.stop(kPatience).empty());
}

/// Takes a question, and never answers it.
caf::behavior silent(caf::stateful_actor<caf::response_promise>* self) {
  return {[self](start_atom) {
            self->state = self->make_response_promise();
            return self->state;
          },
          [self](stop_atom) { self->quit(caf::exit_reason::kill); }};
}

TEST(TroupeTest, EndsTheWaitingForOneThatEndsWithoutAnAnswer) {
  Troupe troupe(ThreadBudget{2, 1});
  const auto whom = troupe.spawn("somebody", silent);
  const auto ask = [&] {
    troupe.ask_while<caf::ok_atom>(whom, start_atom_v, [&] { troupe.tell(whom, stop_atom_v); });
  };
  EXPECT_THAT(test::message_of(ask), ::testing::HasSubstr("somebody: it "));
  EXPECT_NE(test::message_of(ask), "no error");  // it has ended already
}

}  // namespace
}  // namespace troupe
