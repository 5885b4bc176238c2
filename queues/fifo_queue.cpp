#include "troupe/queues/fifo_queue.h"

#include <caf/typed_event_based_actor.hpp>

#include "troupe/queues/fifo_store.h"

namespace troupe {

QueueKind fifo_kind() { return {"FIFOQueue", std::make_unique<FifoStore>()}; }

SavableQueue::behavior_type fifo_queue(SavableQueue::stateful_pointer<QueueState> self,
                                       QueueOptions options) {
  return queue_behavior(self, std::move(options), fifo_kind);
}

}  // namespace troupe
