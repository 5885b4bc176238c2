#pragma once

#include "troupe/queues/queue_actor.h"

namespace troupe {

QueueKind staging_kind();

/// A place for batches in front of whoever uses them: put is (enqueue), get is (dequeue) of
/// one element, which is not copied. A put waits until there is room, by elements
/// (QueueOptions::capacity) and by bytes (QueueOptions::capacity_bytes). Besides it can be
/// looked into without taking anything out, and cleared.
///
/// Without components the elements need only the dtypes and ranks of the first one; such
/// elements leave one at a time.
///
///   (peek, request) waits until there is an element at that place; elements that dequeues
///                   take pass it by. out_of_range, or the failure, once the staging area is
///                   closed with fewer.
///   (clear)         drops what is inside; what a dequeue that waits has taken is not.
StagingArea::behavior_type staging_area(StagingArea::stateful_pointer<QueueState> self,
                                        QueueOptions options);

}  // namespace troupe
