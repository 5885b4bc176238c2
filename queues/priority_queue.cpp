#include "troupe/queues/priority_queue.h"

#include <caf/typed_event_based_actor.hpp>

#include "troupe/queues/priority_store.h"

namespace troupe {

QueueKind priority_kind(const QueueOptions& options) {
  const TensorSpec priority{DType::int64, {}};
  if (!options.components.empty()) {
    const auto& spec = options.components[0].spec;
    if (spec.dtype != priority.dtype || !(spec.shape == priority.shape))
      fail(Code::invalid_argument, "PriorityQueue '", options.name,
           "': component 0 is the priority and must be ", priority, ", but is declared as ", spec,
           " (QueueOptions::components)");
  }
  return {"PriorityQueue", std::make_unique<PriorityStore>()};
}

SavableQueue::behavior_type priority_queue(SavableQueue::stateful_pointer<QueueState> self,
                                           QueueOptions options) {
  return queue_behavior(self, options, [&] { return priority_kind(options); });
}

}  // namespace troupe
