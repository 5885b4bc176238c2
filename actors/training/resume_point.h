#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/checkpoint_writer.h"
#include "troupe/actors/training/training.h"

namespace troupe {

/// The checkpoint to go on from, if there is to be one. Refuses a directory whose
/// checkpoints would be mixed with those of this run.
std::optional<Checkpoint> checkpoint_to_resume(const CheckpointOptions& o);

/// Throws failed_precondition when the checkpoint has another value for one of these labels.
void check_labels(const Checkpoint& checkpoint, const std::map<std::string, std::string>& labels);

/// Of the checkpoints that a run writes, with those kept that the options say.
std::shared_ptr<CheckpointWriter> checkpoint_writer(const CheckpointOptions& o);

}  // namespace troupe
