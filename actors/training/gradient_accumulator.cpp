#include "troupe/actors/training/gradient_accumulator.h"

#include <utility>

#include "troupe/actors/aggregation/weighted_sum.h"

namespace troupe {

void GradientAccumulator::add(std::size_t part, Tensor values, Tensor indices, std::int64_t rows) {
  auto& p = parts_.at(part);
  const bool sparse = indices.size() > 0;
  if (!sparse && p.values.size() == 1 && is_floating(values.dtype())) {
    // A sum in place of a list: the memory of one gradient, however many batches there are.
    const double before = p.rows[0], now = static_cast<double>(rows);
    const double total = before + now;
    p.values[0] = weighted_sum({p.values[0], values}, {before / total, now / total}, serial());
    p.rows[0] = total;
    return;
  }
  p.values.push_back(std::move(values));
  if (sparse) p.indices.push_back(std::move(indices));
  p.rows.push_back(static_cast<double>(rows));
}

std::optional<GradientAccumulator::Mean> GradientAccumulator::take(std::size_t part,
                                                                   std::int64_t rows) {
  auto p = std::exchange(parts_.at(part), {});
  if (p.values.empty()) return std::nullopt;
  if (!is_floating(p.values[0].dtype())) return Mean{p.values.back(), {}};
  for (auto& share : p.rows) share /= static_cast<double>(rows);
  if (p.indices.empty()) return Mean{weighted_sum(p.values, p.rows, serial()), {}};
  return Mean{stacked_rows(p.values, p.rows), stacked_indices(p.indices)};
}

void GradientAccumulator::clear() {
  for (auto& part : parts_) part = {};
}

}  // namespace troupe
