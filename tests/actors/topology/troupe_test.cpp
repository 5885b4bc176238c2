#include "troupe/actors/topology/troupe.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace troupe
