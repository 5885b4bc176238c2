#pragma once

#include <cstddef>
#include <vector>

#include "troupe/devices/schedule.h"

namespace troupe {

/// A stretch of memory that one value, or several in place, live in.
struct PlannedBuffer {
  std::size_t bytes = 0;
  std::vector<int> steps;  ///< that write or read it; the first one makes it
  bool leaves = false;     ///< goes to whoever asked: a block of its own at every run
  TensorSpec spec;         ///< of the first value, or of the one that leaves
  std::size_t offset = 0;  ///< in the arena, unless it leaves
};

struct MemoryPlan {
  std::vector<PlannedBuffer> buffers;
  std::vector<std::vector<int>> buffer_of;  ///< by node and output, -1 where nothing is planned
  std::size_t arena_bytes = 0;
  int in_place = 0;  ///< values that are written over an input
};

/// Gives every output of every step a buffer. An op that may work in place does
/// so where its input is needed by nobody later; buffers that are never needed
/// at the same time share memory. Strings get buffers of their own: they are
/// objects, not bytes.
MemoryPlan plan_memory(const LoweredGraph& lowered, const StepOrder& schedule,
                       const Precedence& precedence);

/// Sets the offsets, 64-byte aligned, so that no two buffers overlap unless every
/// step of one comes before every step of the other. Returns the bytes that it
/// takes in all. Large buffers are placed first, each as low as it fits.
std::size_t place_in_arena(const std::vector<PlannedBuffer*>& buffers,
                           const Precedence& precedence);

}  // namespace troupe
