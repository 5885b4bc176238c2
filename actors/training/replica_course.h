#pragma once

#include "troupe/actors/training/replica.h"

namespace troupe {

/// Goes on with whatever is possible now.
void advance(ReplicaSelf self, const ReplicaOptionsPtr& options);
/// Asks for one more batch ahead, if there is to be one.
void ask_for_batch(ReplicaSelf self, const ReplicaOptionsPtr& options);

/// It is done when all shards have passed on that it leaves: what the coordinator decides for
/// that comes before anything that is asked of the shards afterwards.
void finish(ReplicaSelf self, const ReplicaOptionsPtr& options);
/// Its run ends with that failure.
void abort_run(ReplicaSelf self, const ReplicaOptionsPtr& options, const caf::error& error);

}  // namespace troupe
