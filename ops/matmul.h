#pragma once

#include "troupe/ops/graph.h"

namespace troupe {

struct MatmulOptions {
  bool transpose_a = false;  ///< a is [..., k, m] and taken as [..., m, k]
  bool transpose_b = false;  ///< b is [..., n, k] and taken as [..., k, n]
};

/// The product of matrices, [..., m, k] times [..., k, n] to [..., m, n]. Axes
/// in front of the last two must be equal: one product for each of them.
/// float32 and float64. The bits of the result do not depend on the number of threads.
Output matmul(Output a, Output b, const MatmulOptions& options = {});

}  // namespace troupe
