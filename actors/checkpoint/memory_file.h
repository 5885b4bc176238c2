#pragma once

#include <string>
#include <vector>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/manifest.h"
#include "troupe/messages/replica_memory.h"

namespace troupe {

/// Puts what the replicas of a run remember into a checkpoint that is about to be published; none
/// is no part of it. Returns the bytes of its file. Throws as write_safetensors() does.
std::uint64_t write_memories(const std::string& directory,
                             const std::vector<ReplicaMemory>& memories, Manifest& manifest);

/// The same, verified; empty for a checkpoint without. Throws data_loss, naming the file, for what
/// is damaged.
std::vector<ReplicaMemory> read_memories(const Checkpoint& checkpoint);

}  // namespace troupe
