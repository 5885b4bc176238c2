#pragma once

#include <bitset>

#include "troupe/ops/kernel.h"
#include "troupe/ops/simd/reduce.h"

namespace troupe {

/// Some of the axes of a shape.
using AxisSet = std::bitset<Shape::kMaxRank>;

/// The kernel that combines the values of input 0, of a known shape, along the
/// axes in `reduced`; `scale` multiplies the results.
///
/// Work is cut into blocks by the shape alone and the blocks are combined in
/// order, so the result is the same whatever the number of threads.
KernelPtr reduce_kernel(const KernelInit& init, AxisSet reduced, const simd::Reduce& reduce,
                        double scale = 1);

}  // namespace troupe
