#pragma once

#include <cstdint>

#include "troupe/actors/training/training.h"

namespace troupe {

/// Replicas, shards, devices.
constexpr int kMostOfAKind = 1024;

/// Throws Error, naming the option, for what no run can have.
void check(const TrainingOptions& o);

/// A run that needs more memory than there is would only fail later, and worse.
void check_memory(std::uint64_t bound);

/// The components of a batch must be what the model's placeholders want.
void check_fit(const Model& model, const Batches& batches, const char* which);

}  // namespace troupe
