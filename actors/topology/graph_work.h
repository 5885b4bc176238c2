#pragma once

#include <cstdint>

#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/stages/stage_program.h"
#include "troupe/actors/training/model.h"
#include "troupe/messages/system_config.h"

namespace troupe {

/// What one run of a graph takes.
struct GraphWork {
  double flops = 0;               ///< of products and convolutions, forward and back
  std::uint64_t arena_bytes = 0;  ///< of all values between, as the device plans them
  std::uint64_t input_bytes = 0;  ///< of what is fed and kept
};

/// Of the training step of a model with so many rows. Compiles it, and finishes its graph.
GraphWork work_of_step(const Model& model, bool gradient_norm, std::int64_t rows,
                       ThreadBudget threads);

/// Of a stage, forward and back, with a micro-batch of so many rows.
GraphWork work_of_stage(const StageProgram& program, std::int64_t rows, ThreadBudget threads);

/// Bytes of all examples; 0 when they are not known.
std::uint64_t batch_total(const Batches& data);

}  // namespace troupe
