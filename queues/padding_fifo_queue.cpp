#include "troupe/queues/padding_fifo_queue.h"

#include <caf/typed_event_based_actor.hpp>

#include "troupe/queues/fifo_store.h"

namespace troupe {

QueueKind padding_fifo_kind() { return {"PaddingFIFOQueue", std::make_unique<FifoStore>(), true}; }

SavableQueue::behavior_type padding_fifo_queue(SavableQueue::stateful_pointer<QueueState> self,
                                               QueueOptions options) {
  if (!options.padding) options.padding.emplace();
  return queue_behavior(self, std::move(options), padding_fifo_kind);
}

}  // namespace troupe
