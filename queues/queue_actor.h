#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "troupe/messages/protocol.h"
#include "troupe/queues/queue_core.h"

namespace troupe {

/// Stacks the elements of a batch. Large batches are stacked by an actor of its own,
/// because copying takes milliseconds in which the queue could not take elements.
using Stacker = caf::typed_actor<caf::replies_to<ElementBlock>::with<Batch>>;

/// The state of every queue actor.
struct QueueState {
  static constexpr const char* name = "troupe.queue";

  /// Nobody waits for ever on a queue that is gone.
  ~QueueState();

  std::unique_ptr<QueueCore> core;
  Stacker stacker;                            // spawned with the first large batch
  std::set<caf::actor_addr> watched;          // clients and producers that we monitor
  std::optional<QueueCore::TimePoint> timer;  // of the message that will wake us
};

/// The behaviour of a queue that keeps its elements in `store`: the words of the
/// Queue interface around a QueueCore. For the functions that make a certain
/// kind of queue, such as fifo_queue.
Queue::behavior_type queue_behavior(Queue::stateful_pointer<QueueState> self, std::string kind,
                                    QueueOptions options, std::unique_ptr<ElementStore> store);

}  // namespace troupe
