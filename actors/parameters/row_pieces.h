#pragma once

#include <cstdint>
#include <vector>

#include "troupe/ops/tensor.h"

namespace troupe {

/// Consecutive rows of a variable that is split over shards, or all of one that is not.
struct RowPiece {
  std::int64_t first = 0;  ///< number of the first row in the whole
  Tensor rows;
};

/// Those rows one below the other. One piece is not copied.
Tensor stacked(const TensorList& rows);

/// The variable whose rows these are, whatever the order of the pieces. One piece is not copied.
Tensor joined(std::vector<RowPiece> pieces);

}  // namespace troupe
