#include "troupe/actors/topology/troupe.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace troupe
