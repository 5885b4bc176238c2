#pragma once

#include "troupe/queues/bucket_store.h"
#include "troupe/queues/queue_actor.h"

namespace troupe {

struct BucketQueueOptions : QueueOptions {
  Buckets buckets;
  /// With more than 0, a batch leaves only if more than this many elements are inside,
  /// and both the bucket and its elements are random ones.
  std::int64_t min_after_dequeue = 0;
  std::uint64_t seed = 0;
};

/// A queue that gives out batches of elements of like lengths: one dequeue, one batch,
/// whatever number it asks for. Once it is closed, what does not fill a batch leaves
/// bucket by bucket, or not at all, as the buckets say.
///
/// Throws invalid_argument when its capacity is too small to be sure that some bucket
/// gets full; when its bytes are, enqueues fail with resource_exhausted.
Queue::behavior_type bucket_queue(Queue::stateful_pointer<QueueState> self,
                                  BucketQueueOptions options);

}  // namespace troupe
