#include "troupe/queues/bucket_queue.h"

#include <caf/typed_event_based_actor.hpp>

#include "troupe/ops/error.h"

namespace troupe {

QueueKind bucket_kind(const BucketQueueOptions& options) {
  auto store =
      std::make_unique<BucketStore>(options.buckets, options.min_after_dequeue, options.seed);
  const auto most = options.buckets.most_without_a_batch();
  if (options.capacity != QueueOptions::kUnbounded && options.capacity <= most)
    fail(Code::invalid_argument, "BucketQueue '", options.name, "': capacity is ", options.capacity,
         ", but ", most, " elements may be inside without a full bucket, and one more is needed");
  return {"BucketQueue", std::move(store)};
}

SavableQueue::behavior_type bucket_queue(SavableQueue::stateful_pointer<QueueState> self,
                                         BucketQueueOptions options) {
  return queue_behavior(self, options, [&] { return bucket_kind(options); });
}

}  // namespace troupe
