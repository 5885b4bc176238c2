#pragma once

#include "troupe/actors/training/replica.h"

namespace troupe {

/// A gradient set begins with that batch.
void begin_set(ReplicaState& state, const ReplicaOptions& options, const Batch& first);
/// One streamed output of the batch in hand has come.
void take_output(ReplicaSelf self, const ReplicaOptionsPtr& options, std::uint32_t index,
                 Tensor& value);
/// The batch has been computed: it was the last of its set, or another one follows.
void end_batch(ReplicaSelf self, const ReplicaOptionsPtr& options);
/// The same if all that the run of the batch gives is there.
void end_batch_if_complete(ReplicaSelf self, const ReplicaOptionsPtr& options);
/// The set is whole: pushes what is still here, and commits.
void complete_set(ReplicaSelf self, const ReplicaOptionsPtr& options);
/// What is being computed would come too late for parameters of that version.
void give_up(ReplicaSelf self, const ReplicaOptionsPtr& options, Version newest);

/// All shards have said what became of the set.
void end_set(ReplicaSelf self, const ReplicaOptionsPtr& options);
/// Gets ready to compute with the parameters that have come.
void start_local(ReplicaState& state, const ReplicaOptions& options);

}  // namespace troupe
