#pragma once

#include <cstdint>
#include <vector>

#include "troupe/ops/tensor.h"

namespace troupe {

/// The rows of a sparse gradient, one for each index.
struct SummedRows {
  std::vector<std::int64_t> indices;  ///< ascending, each once
  Tensor rows;                        ///< [indices, ...]
};

/// Adds up the rows of each index, in the order in which they are given.
///
///   indices  [count]       int32 or int64, in [0, limit)
///   rows     [count, ...]
///
/// The very rows when no index comes twice and all ascend. Throws invalid_argument for
/// other shapes and dtypes, and, naming index and position, for an index outside [0, limit).
SummedRows sum_rows(const Tensor& indices, const Tensor& rows, std::int64_t limit);

}  // namespace troupe
