#pragma once

#include "troupe/queues/bucket_store.h"
#include "troupe/queues/queue_actor.h"

namespace troupe {

struct BucketQueueOptions : QueueOptions {
  Buckets buckets;
  /// A batch leaves only if more than this many elements are inside.
  std::int64_t min_after_dequeue = 0;
  std::optional<std::uint64_t> seed;  ///< draw buckets and elements at random
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
