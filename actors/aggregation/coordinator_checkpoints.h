#pragma once

#include <functional>

#include "troupe/actors/aggregation/coordinator.h"

namespace troupe {

/// What a checkpoint has of the coordinator: counts and clocks, of all groups.
AggregationStatus status_of(CoordinatorState& state);
/// Those of a run that is gone on with.
void restore(CoordinatorState& state, const AggregationStatus& status);

/// Asks for the data as they stand after the decisions so far: whoever has them has been told
/// of all of these before.
void cut(CoordinatorSelf self, const std::function<void(DataState)>& take);

/// What replicas remember goes into the checkpoint of this version: before the shards are told of
/// it, as the last of them makes it complete.
void keep_memories(CoordinatorSelf self, const CoordinatorOptions& options);
/// This version is to be kept: so are the data as they stand now, and the backlog has one more.
void keep_data(CoordinatorSelf self, const CoordinatorOptions& options);

/// Says once that the run waits for the disk, when it does.
void tell_of_disk(CoordinatorSelf self, const CoordinatorOptions& options);
/// There is room for another version that is to be kept, or nobody looks after that any more.
void go_on_from_backlog(CoordinatorSelf self, const CoordinatorOptions& options);
/// From now on nothing waits for the disk.
void stop_waiting_for_disk(CoordinatorSelf self, const CoordinatorOptions& options);

}  // namespace troupe
