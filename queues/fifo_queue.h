#pragma once

#include "troupe/queues/queue_actor.h"

namespace troupe {

QueueKind fifo_kind();

/// A queue that gives elements out in the order in which they came in.
SavableQueue::behavior_type fifo_queue(SavableQueue::stateful_pointer<QueueState> self,
                                       QueueOptions options);

}  // namespace troupe
