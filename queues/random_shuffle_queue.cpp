#include "troupe/queues/random_shuffle_queue.h"

#include <caf/typed_event_based_actor.hpp>

#include "troupe/queues/random_shuffle_store.h"

namespace troupe {

QueueKind random_shuffle_kind(const RandomShuffleQueueOptions& options) {
  return {"RandomShuffleQueue",
          std::make_unique<RandomShuffleStore>(options.min_after_dequeue, options.seed)};
}

SavableQueue::behavior_type random_shuffle_queue(SavableQueue::stateful_pointer<QueueState> self,
                                                 RandomShuffleQueueOptions options) {
  return queue_behavior(self, options, [&] { return random_shuffle_kind(options); });
}

}  // namespace troupe
