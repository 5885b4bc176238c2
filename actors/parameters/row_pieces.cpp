#include "troupe/actors/parameters/row_pieces.h"

#include <algorithm>
#include <utility>

#include "troupe/actors/aggregation/weighted_sum.h"

namespace troupe {

Tensor stacked(const TensorList& rows) {
  return rows.size() == 1 ? rows[0] : stacked_rows(rows, std::vector<double>(rows.size(), 1.0));
}

Tensor joined(std::vector<RowPiece> pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const RowPiece& a, const RowPiece& b) { return a.first < b.first; });
  TensorList rows;
  for (auto& piece : pieces) rows.push_back(std::move(piece.rows));
  return stacked(rows);
}

}  // namespace troupe
