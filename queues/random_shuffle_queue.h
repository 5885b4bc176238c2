#pragma once

#include "troupe/queues/queue_actor.h"

namespace troupe {

struct RandomShuffleQueueOptions : QueueOptions {
  /// While the queue is open an element leaves only if more than this many are
  /// inside: the larger, the better the shuffle. Below the capacity, which is
  /// best min_after_dequeue + 3 batches or more.
  std::int64_t min_after_dequeue = 0;
  std::uint64_t seed = 0;  ///< the same seed and the same elements give the same order
};

QueueKind random_shuffle_kind(const RandomShuffleQueueOptions& options);

/// A queue that gives out a random one of its elements.
///
/// A dequeue takes elements one by one as they come, each above the floor, so it may ask for
/// more than the capacity: room for one element above the floor is all it needs.
SavableQueue::behavior_type random_shuffle_queue(SavableQueue::stateful_pointer<QueueState> self,
                                                 RandomShuffleQueueOptions options);

}  // namespace troupe
