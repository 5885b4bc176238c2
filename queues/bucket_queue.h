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

/// Throws invalid_argument for buckets that make no sense, or when the capacity is too small
/// to be sure that some bucket gets full.
QueueKind bucket_kind(const BucketQueueOptions& options);

/// A queue that gives out batches of elements of like lengths: one dequeue, one batch,
/// whatever number it asks for. Once it is closed, what does not fill a batch leaves
/// bucket by bucket, or not at all, as the buckets say.
///
/// When its bytes are too few to be sure that some bucket gets full, enqueues fail with
/// resource_exhausted.
SavableQueue::behavior_type bucket_queue(SavableQueue::stateful_pointer<QueueState> self,
                                         BucketQueueOptions options);

}  // namespace troupe
