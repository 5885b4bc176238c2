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

/// A queue that gives out a random one of its elements.
Queue::behavior_type random_shuffle_queue(Queue::stateful_pointer<QueueState> self,
                                          RandomShuffleQueueOptions options);

}  // namespace troupe
