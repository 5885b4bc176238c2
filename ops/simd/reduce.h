#pragma once

#include <cstdint>

#include "troupe/ops/simd/isa.h"

namespace troupe::simd {

/// One reduction as loops over one dtype. `state` is what has been combined so
/// far, in the accumulator's type: float64 for sums of float32.
struct Reduce {
  /// Bytes of one accumulator, at most 8.
  int width = 0;
  /// Starts n accumulators.
  void (*start)(void* state, std::int64_t n) = nullptr;
  /// Combines n contiguous values into one accumulator.
  void (*row)(const void* x, std::int64_t n, void* state) = nullptr;
  /// Combines `count` rows of n values, `stride` values apart, into n accumulators.
  void (*columns)(const void* x, std::int64_t count, std::int64_t stride, std::int64_t n,
                  void* state) = nullptr;
  /// Combines n accumulators into n others.
  void (*merge)(const void* from, void* into, std::int64_t n) = nullptr;
  /// The results of n accumulators, times `scale` where values are floating.
  void (*finish)(const void* state, void* y, std::int64_t n, double scale) = nullptr;
};

/// The reductions of float32, built for each instruction set.
struct ReduceFloat {
  Reduce sum, sum_of_squares, max, min;
};

TROUPE_EACH_ISA(extern const ReduceFloat reduce_float;)

/// Those for this processor.
const ReduceFloat& reduce_float();

}  // namespace troupe::simd
