#pragma once

#include "troupe/queues/queue_actor.h"

namespace troupe {

/// Throws invalid_argument unless component 0, if components are given, is int64 [].
QueueKind priority_kind(const QueueOptions& options);

/// A queue whose elements leave by their priority, an int64 scalar that is their component
/// 0: the smallest first, and among equal ones in the order in which they came.
///
/// A dequeue does not take elements as they come, but all of them at once when there are
/// enough, so that its first is the smallest of all. One that asks for more than the
/// capacity is refused at once with invalid_argument, and resource_exhausted answers one
/// that waits for more while the queue has no room for the enqueue that waits. With up_to
/// such a request gets what is inside.
SavableQueue::behavior_type priority_queue(SavableQueue::stateful_pointer<QueueState> self,
                                           QueueOptions options);

}  // namespace troupe
