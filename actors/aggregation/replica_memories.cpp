#include "troupe/actors/aggregation/replica_memories.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "troupe/actors/aggregation/weighted_sum.h"
#include "troupe/ops/error.h"

namespace troupe {

void ReplicaMemories::settle(const SettledSet& set) {
  const auto found = expected_.find(set.replica);
  if (found == expected_.end() || found->second.first != set.first) return;
  if (set.fate == SetFate::applied) memories_[set.replica] = std::move(found->second.applied);
  if (set.fate == SetFate::skipped) memories_[set.replica] = std::move(found->second.skipped);
  expected_.erase(found);
}

ReplicaMemory ReplicaMemories::of(std::uint32_t replica) const {
  const auto found = memories_.find(replica);
  if (found != memories_.end()) return found->second;
  ReplicaMemory nothing;
  nothing.replica = replica;
  return nothing;
}

std::vector<ReplicaMemory> ReplicaMemories::all() const {
  std::vector<ReplicaMemory> all;
  for (const auto& [replica, memory] : memories_) all.push_back(memory);
  return all;
}

void ReplicaMemories::restore(const std::vector<ReplicaMemory>& memories) {
  for (const auto& memory : memories) memories_[memory.replica] = memory;
}

namespace {

bool same_rows(const Shape& a, const Shape& b) {
  return a.rank() > 0 && a.rank() == b.rank() &&
         std::equal(a.extents().begin() + 1, a.extents().end(), b.extents().begin() + 1);
}

}  // namespace

std::vector<OwedGradient> in_one_piece(std::vector<OwedGradient> owed) {
  std::stable_sort(owed.begin(), owed.end(), [](const auto& a, const auto& b) {
    return std::tie(a.variable, a.first_row) < std::tie(b.variable, b.first_row);
  });
  std::vector<OwedGradient> whole;
  for (std::size_t i = 0; i < owed.size();) {
    TensorList pieces;
    std::int64_t rows = 0;
    const auto& first = owed[i];
    for (; i < owed.size() && owed[i].variable == first.variable; ++i) {
      const auto& piece = owed[i];
      const auto& shape = piece.values.shape();
      const bool fits = piece.first_row == rows && piece.values.dtype() == first.values.dtype() &&
                        (pieces.empty() || same_rows(shape, first.values.shape()));
      if (!fits)
        fail(Code::data_loss, "what is owed to '", piece.variable, "' has rows from ",
             piece.first_row, " on, of shape ", shape, ", behind ", rows, " rows");
      pieces.push_back(piece.values);
      rows += shape.rank() > 0 ? shape[0] : 1;
    }
    auto values = pieces.size() == 1
                      ? pieces[0]
                      : stacked_rows(pieces, std::vector<double>(pieces.size(), 1.0));
    whole.push_back({first.variable, 0, std::move(values)});
  }
  return whole;
}

namespace {

void add(std::vector<OwedGradient>& to, const OwedGradient& more) {
  const auto same = std::find_if(to.begin(), to.end(),
                                 [&](const auto& one) { return one.variable == more.variable; });
  if (same == to.end()) return to.push_back(more);
  if (same->values.shape() != more.values.shape() || same->values.dtype() != more.values.dtype())
    fail(Code::data_loss, "what is owed to '", more.variable, "' has shape ", same->values.shape(),
         " and ", more.values.shape());
  same->values = weighted_sum({same->values, more.values}, {1, 1}, serial());
}

}  // namespace

std::vector<ReplicaMemory> dealt_out(const std::vector<ReplicaMemory>& memories,
                                     std::uint32_t replicas, double factor) {
  std::map<std::uint32_t, ReplicaMemory> dealt;
  for (const auto& memory : memories) {
    const auto owed = in_one_piece(memory.owed);
    auto& to = dealt[memory.replica % replicas];
    if (memory.replica < replicas) {
      to.loss_scale = memory.loss_scale;
      to.good_steps = memory.good_steps;
    }
    to.replica = memory.replica % replicas;
    for (const auto& gradient : owed) add(to.owed, gradient);
  }
  std::vector<ReplicaMemory> all;
  for (auto& [replica, memory] : dealt) {
    if (factor != 1)
      for (auto& gradient : memory.owed)
        gradient.values = weighted_sum({gradient.values}, {factor}, serial());
    all.push_back(std::move(memory));
  }
  return all;
}

}  // namespace troupe
