#pragma once

#include <optional>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/training/training.h"

namespace troupe {

/// The checkpoint to go on from, if there is to be one. Refuses a directory whose
/// checkpoints would be mixed with those of this run.
std::optional<Checkpoint> checkpoint_to_resume(const CheckpointOptions& o);

}  // namespace troupe
