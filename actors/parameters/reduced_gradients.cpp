#include "troupe/actors/parameters/reduced_gradients.h"

#include <utility>

#include "troupe/actors/aggregation/weighted_sum.h"
#include "troupe/ops/optim/summed_rows.h"

namespace troupe {
namespace {

/// Values that are no numbers to be averaged: those of the first member count.
bool is_gathered(const ReducedPart& part, const TensorSpec& spec) {
  return part.kind == PartKind::sparse_gradient || !is_floating(spec.dtype);
}

Tensor index_tensor(const std::vector<std::int64_t>& indices) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(indices.size())}, indices);
}

Tensor scaled(const Tensor& values, double factor) {
  return weighted_sum({values}, {factor}, serial());
}

}  // namespace

// The sums end with the sum of the shares, by which assigned values are divided.

Reduction reduction_of(const CombinedGradients& own, double share,
                       const std::vector<ReducedPart>& parts, const ParameterStore& store) {
  Reduction brought;
  TensorList gathered;
  for (const auto& part : parts) {
    const auto at = store.position(part.variable);
    const auto spec = store.spec(at);
    const auto* v = share == 0 ? nullptr : &own.variables.at(at);
    if (is_gathered(part, spec)) {
      if (!v) continue;
      if (part.kind == PartKind::sparse_gradient) {
        gathered.push_back(index_tensor(v->indices));
        gathered.push_back(v->rows);
      } else {
        gathered.push_back(v->assigned.at(0));
      }
      continue;
    }
    Tensor mine;
    if (v && part.kind == PartKind::gradient) mine = v->gradient;
    if (v && part.kind == PartKind::assignment && !v->assigned.empty())
      mine = scaled(v->assigned[0], share);
    brought.sums.push_back(
        mine.size() > 0 || spec.shape.volume() == 0 ? mine : Tensor(spec.dtype, spec.shape));
  }
  brought.sums.push_back(Tensor::scalar(share));
  brought.gathered = {std::move(gathered)};
  return brought;
}

CombinedGradients gradients_of(const Reduction& all, const std::vector<ReducedPart>& parts,
                               const ParameterStore& store, std::uint64_t updates) {
  CombinedGradients combined;
  combined.updates = updates;
  combined.variables.resize(store.variables());
  const double shares = all.sums.empty() ? 0 : all.sums.back().item();
  if (!(shares > 0)) return combined;
  std::size_t sum = 0, gathered = 0;
  const auto from_each = [&](std::size_t position) {
    TensorList of_members;
    for (const auto& member : all.gathered)
      if (!member.empty()) of_members.push_back(member.at(position));
    return of_members;
  };
  for (const auto& part : parts) {
    const auto at = store.position(part.variable);
    const auto spec = store.spec(at);
    auto& v = combined.variables[at];
    if (!is_gathered(part, spec)) {
      auto values = all.sums.at(sum++);
      if (part.kind == PartKind::gradient)
        v.gradient = std::move(values);
      else
        v.assigned = {scaled(values, 1 / shares)};
    } else if (part.kind == PartKind::sparse_gradient) {
      const auto indices = from_each(gathered++);
      const auto rows = from_each(gathered++);
      const std::vector<double> once(rows.size(), 1);
      auto summed = sum_rows(stacked_indices(indices), stacked_rows(rows, once), spec.shape[0]);
      v.indices = std::move(summed.indices);
      v.rows = std::move(summed.rows);
    } else {
      v.assigned = {from_each(gathered++).at(0)};
    }
  }
  return combined;
}

}  // namespace troupe
