#pragma once

#include "troupe/actors/training/replica.h"

namespace troupe {

/// Whether the replica keeps something from one set to the next one.
bool keeps_memory(const ReplicaOptions& options);

/// What the replica will remember of the set that it is about to commit.
MemoryOfSet memory_of_set(const ReplicaState& state, const ReplicaOptions& options);

/// Goes on with what it, or the one before it, remembered. It knows which shard has what.
void remember(ReplicaState& state, const ReplicaOptions& options, const ReplicaMemory& memory);

/// The name for a compressor of the gradients of a variable from that row on.
std::string part_name(const std::string& variable, std::int64_t first_row);

}  // namespace troupe
