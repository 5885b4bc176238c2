#pragma once

#include "troupe/queues/queue_actor.h"

namespace troupe {

QueueKind padding_fifo_kind();

/// A FIFO queue whose elements may differ in the extents that are -1 in their components:
/// in a batch each of these is as long as its longest element, and what shorter ones lack
/// is filled up at the end of each axis, as QueueOptions::padding says; with zeros and
/// empty strings if it says nothing. A batch of one element is that element as it is.
/// Without components, dtypes and ranks are those of the first element that comes, and
/// all extents may differ.
SavableQueue::behavior_type padding_fifo_queue(SavableQueue::stateful_pointer<QueueState> self,
                                               QueueOptions options);

}  // namespace troupe
