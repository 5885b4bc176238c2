#include "troupe/queues/random_shuffle_queue.h"

#include <caf/typed_event_based_actor.hpp>

#include "troupe/queues/random_shuffle_store.h"

namespace troupe {

Queue::behavior_type random_shuffle_queue(Queue::stateful_pointer<QueueState> self,
                                          RandomShuffleQueueOptions options) {
  auto store = std::make_unique<RandomShuffleStore>(options.min_after_dequeue, options.seed);
  return queue_behavior(self, "RandomShuffleQueue", std::move(options), std::move(store));
}

}  // namespace troupe
