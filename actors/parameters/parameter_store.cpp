#include "troupe/actors/parameters/parameter_store.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/actors/aggregation/weighted_sum.h"
#include "troupe/ops/optim/ema.h"

namespace troupe {
namespace {

/// What was pushed for one variable, by kind, in the order of the sets.
struct Pushed {
  TensorList values, indices;
  std::vector<double> shares;

  void add(const GradientPart& part, double share) {
    values.push_back(part.values);
    if (part.kind == PartKind::sparse_gradient) indices.push_back(part.indices);
    shares.push_back(share);
  }
};

/// The same by kind of part.
struct PushedParts {
  Pushed gradients, sparse;
  std::vector<Pushed> assigned;  ///< the value, then the slots; empty for none
};

/// The mean of what replicas assign; the first where there is no mean.
Tensor assigned_value(const Pushed& pushed, IntraOp& intra) {
  if (pushed.values.size() == 1 || !is_floating(pushed.values[0].dtype())) return pushed.values[0];
  auto shares = pushed.shares;
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (auto& share : shares) share /= total;
  return weighted_sum(pushed.values, shares, intra);
}

CombinedGradients::OfVariable combine_parts(const PushedParts& pushed,
                                            const AggregationPolicy& policy, IntraOp& intra) {
  CombinedGradients::OfVariable v;
  const auto& [gradients, sparse, all_assigned] = pushed;
  if (!gradients.values.empty())
    v.gradient = policy.reduce(gradients.values, gradients.shares, intra);
  if (!sparse.values.empty()) {
    v.indices = stacked_indices(sparse.indices);
    v.rows = stacked_rows(sparse.values, sparse.shares);
  }
  for (const auto& assigned : all_assigned)
    v.assigned.push_back(assigned.values.empty() ? Tensor() : assigned_value(assigned, intra));
  return v;
}

/// The parts of all sets by variable. `slots` are the names of the optimizer's.
std::vector<PushedParts> parts_by_variable(
    const std::vector<GradientSet>& sets, const std::unordered_map<std::string, std::size_t>& index,
    const std::vector<std::string>& slots) {
  std::vector<PushedParts> pushed(index.size());
  for (const auto& set : sets)
    for (const auto& part : set.parts) {
      auto& of = pushed[index.at(part.variable)];
      if (part.kind == PartKind::gradient) {
        of.gradients.add(part, set.share);
      } else if (part.kind == PartKind::sparse_gradient) {
        of.sparse.add(part, set.share);
      } else {
        const auto slot = std::find(slots.begin(), slots.end(), part.slot) - slots.begin();
        of.assigned.resize(1 + slots.size());
        of.assigned[part.slot.empty() ? 0 : static_cast<std::size_t>(1 + slot)].add(part,
                                                                                    set.share);
      }
    }
  return pushed;
}

}  // namespace

// ---- what one update brings ------------------------------------------------------------------

double CombinedGradients::squared_norm(IntraOp& intra) const {
  double total = 0;
  for (const auto& v : variables)
    for (const auto* tensor : {&v.gradient, &v.rows})
      if (tensor->size() > 0) total += troupe::squared_norm(*tensor, intra);
  return total;
}

void CombinedGradients::scale(double factor, IntraOp& intra) {
  if (factor == 1) return;
  for (auto& v : variables)
    for (auto* tensor : {&v.gradient, &v.rows})
      if (tensor->size() > 0) *tensor = weighted_sum({*tensor}, {factor}, intra);
}

// ---- the store -------------------------------------------------------------------------------

ParameterStore::ParameterStore(std::string name, const std::vector<ShardVariable>& variables,
                               const OptimizerConfig& optimizer, const Schedule& schedule,
                               double average_decay)
    : name_(std::move(name)),
      optimizer_(optimizer),
      schedule_(schedule),
      average_decay_(average_decay) {
  for (const auto& variable : variables) {
    Entry entry;
    entry.name = variable.name;
    entry.trainable = variable.trainable;
    entry.value = variable.initial;
    if (variable.trainable) {
      entry.slots = optimizer_.initial_slots(variable.initial.dtype(), variable.initial.shape());
      if (average_decay_ > 0) entry.average = variable.initial.clone();
    }
    if (!index_.emplace(entry.name, entries_.size()).second)
      fail(Code::already_exists, name_, ": variable '", entry.name, "' is given twice");
    entries_.push_back(std::move(entry));
  }
}

std::uint64_t ParameterStore::bytes() const {
  std::uint64_t total = 0;
  for (const auto& entry : entries_) {
    total += entry.value.byte_size();
    for (const auto& slot : entry.slots) total += slot.byte_size();
    if (average_decay_ > 0 && entry.trainable) total += entry.average.byte_size();
  }
  return total;
}

Parameters ParameterStore::parameters(bool with_names, bool with_slots) const {
  Parameters result;
  const auto slots = optimizer_.slot_names();
  result.version = version_;
  for (const auto& entry : entries_) {
    if (with_names) result.names.push_back(entry.name);
    result.values.push_back(entry.value);
    for (std::size_t i = 0; with_slots && i < entry.slots.size(); ++i)
      result.slots.push_back({entry.name, slots.at(i), entry.slots[i]});
  }
  return result;
}

void ParameterStore::check(const GradientPart& part) const {
  const auto where = text(name_, ": replica ", part.replica, ", step ", part.step);
  const auto found = index_.find(part.variable);
  if (found == index_.end())
    fail(Code::invalid_argument, where, ": there is no variable '", part.variable, "' here");
  const auto& entry = entries_[found->second];
  const auto& value = entry.value;
  if (!part.slot.empty()) {
    const auto slots = optimizer_.slot_names();
    if (entry.slots.empty() || std::find(slots.begin(), slots.end(), part.slot) == slots.end())
      fail(Code::invalid_argument, where, ": variable '", part.variable, "' has no slot '",
           part.slot, "'");
  }
  if (part.values.dtype() != value.dtype())
    fail(Code::invalid_argument, where, ": variable '", part.variable, "' is ", value.dtype(),
         ", but what was pushed is ", part.values.dtype());
  if (part.kind != PartKind::sparse_gradient) {
    if (!(part.values.shape() == value.shape()))
      fail(Code::invalid_argument, where, ": variable '", part.variable, "' has shape ",
           value.shape(), ", but what was pushed has ", part.values.shape());
    return;
  }
  const auto rows = part.indices.size();
  if (value.shape().rank() == 0 ||
      !(part.values.shape() == value.shape().without_first().with_first(rows)))
    fail(Code::invalid_argument, where, ": variable '", part.variable, "' has shape ",
         value.shape(), ", but ", rows, " indices came with rows of shape ", part.values.shape());
  for (std::int64_t i = 0; i < rows; ++i) {
    const double row = part.indices.at(i);
    if (row < 0 || row >= static_cast<double>(value.shape()[0]))
      fail(Code::out_of_range, where, ": variable '", part.variable, "' has ", value.shape()[0],
           " rows, but row ", row, " was pushed");
  }
}

CombinedGradients ParameterStore::combine(const std::vector<GradientSet>& sets,
                                          const AggregationPolicy& policy, IntraOp& intra) const {
  CombinedGradients combined;
  for (const auto& parts : parts_by_variable(sets, index_, optimizer_.slot_names()))
    combined.variables.push_back(combine_parts(parts, policy, intra));
  return combined;
}

double ParameterStore::apply(const std::vector<GradientSet>& sets, const AggregationPolicy& policy,
                             std::uint64_t updates, IntraOp& intra) {
  const double learning_rate = schedule_.at(static_cast<std::int64_t>(version_));
  const auto parts = parts_by_variable(sets, index_, optimizer_.slot_names());
  for (std::size_t i = 0; i < entries_.size(); ++i)
    update(entries_[i], combine_parts(parts[i], policy, intra), learning_rate, intra);
  version_ += updates;
  return learning_rate;
}

double ParameterStore::apply(CombinedGradients combined, IntraOp& intra) {
  const double learning_rate = schedule_.at(static_cast<std::int64_t>(version_));
  for (std::size_t i = 0; i < entries_.size(); ++i)
    update(entries_[i], std::move(combined.variables[i]), learning_rate, intra);
  version_ += combined.updates;
  return learning_rate;
}

double ParameterStore::apply(const std::vector<GradientSet>& sets, IntraOp& intra) {
  return apply(sets, SyncPolicy(), 1, intra);
}

void ParameterStore::update(Entry& entry, CombinedGradients::OfVariable given, double learning_rate,
                            IntraOp& intra) {
  const auto step = static_cast<std::int64_t>(version_);
  if (!given.assigned.empty()) {
    const auto is_given = [](const Tensor& t) { return t.size() > 0; };
    if (is_given(given.assigned[0])) entry.value = std::move(given.assigned[0]);
    for (std::size_t s = 0; s < entry.slots.size(); ++s)
      if (is_given(given.assigned[1 + s])) entry.slots[s] = std::move(given.assigned[1 + s]);
  }
  if (given.gradient.size() > 0)
    optimizer_.apply(entry.value, entry.slots, given.gradient, learning_rate, step, intra);
  if (given.indices.size() > 0)
    optimizer_.apply_sparse(entry.value, entry.slots, given.indices, given.rows, learning_rate,
                            step, intra);
  if (average_decay_ > 0 && entry.trainable)
    update_average(entry.average, entry.value, average_decay(average_decay_, step), intra);
}

ShardSnapshot ParameterStore::snapshot(std::uint32_t shard) const {
  ShardSnapshot snapshot{shard, version_, {}};
  const auto slots = optimizer_.slot_names();
  for (const auto& entry : entries_) {
    snapshot.tensors.push_back({entry.name, "", entry.value});
    for (std::size_t s = 0; s < entry.slots.size(); ++s)
      snapshot.tensors.push_back({entry.name, slots.at(s), entry.slots[s]});
    if (average_decay_ > 0 && entry.trainable)
      snapshot.tensors.push_back({entry.name, "average", entry.average});
  }
  return snapshot;
}

void ParameterStore::restore(const ShardSnapshot& snapshot) {
  auto restored = entries_;
  const auto slots = optimizer_.slot_names();
  std::vector<bool> seen(entries_.size());
  for (const auto& saved : snapshot.tensors) {
    const auto found = index_.find(saved.variable);
    if (found == index_.end()) continue;  // of another shard, or not used any more
    auto& entry = restored[found->second];
    Tensor* target = nullptr;
    if (saved.slot.empty()) {
      target = &entry.value;
      seen[found->second] = true;
    } else if (saved.slot == "average") {
      if (average_decay_ > 0 && entry.trainable) target = &entry.average;
    } else {
      const auto slot = std::find(slots.begin(), slots.end(), saved.slot);
      if (slot != slots.end() && !entry.slots.empty()) target = &entry.slots[slot - slots.begin()];
    }
    if (target == nullptr) continue;  // another optimizer's slot
    if (target->dtype() != saved.values.dtype() || !(target->shape() == saved.values.shape()))
      fail(Code::invalid_argument, name_, ": variable '", saved.variable, "'",
           saved.slot.empty() ? "" : text(" (", saved.slot, ")"), " is ", target->dtype(), " ",
           target->shape(), ", but the checkpoint has ", saved.values.dtype(), " ",
           saved.values.shape());
    *target = saved.values;
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!seen[i])
      fail(Code::invalid_argument, name_, ": the checkpoint has no variable '", entries_[i].name,
           "'");
  entries_ = std::move(restored);
  version_ = snapshot.version;
}

}  // namespace troupe
