#include "troupe/actors/parameters/parameter_store.h"

#include <algorithm>
#include <cmath>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/optim/ema.h"

namespace troupe {
namespace {

/// out = sum of weight[i] * parts[i], in order.
Tensor weighted_sum(const std::vector<const Tensor*>& parts, const std::vector<double>& weights,
                    IntraOp& intra) {
  auto sum = Tensor::uninitialized(parts[0]->dtype(), parts[0]->shape());
  dispatch_floating(sum.dtype(), "gradient", [&]<class T>() {
    auto* out = sum.write<T>().data();
    constexpr double kCyclesPerValue = 1;
    intra.parallel_for(sum.size(), kCyclesPerValue * static_cast<double>(parts.size()),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::size_t p = 0; p < parts.size(); ++p) {
                           const auto* in = parts[p]->read<T>().data();
                           const auto scale = static_cast<T>(weights[p]);
                           if (p == 0)
                             for (auto i = begin; i < end; ++i) out[i] = scale * in[i];
                           else
                             for (auto i = begin; i < end; ++i) out[i] += scale * in[i];
                         }
                       });
  });
  return sum;
}

/// Rows of all parts one below the other, each scaled by the weight of its part.
Tensor stacked_rows(const std::vector<const GradientPart*>& parts,
                    const std::vector<double>& weights) {
  std::int64_t rows = 0;
  for (const auto* part : parts) rows += part->values.shape()[0];
  auto shape = parts[0]->values.shape();
  shape.set(0, rows);
  auto all = Tensor::uninitialized(parts[0]->values.dtype(), shape);
  dispatch_floating(all.dtype(), "gradient", [&]<class T>() {
    auto* out = all.write<T>().data();
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (const auto value : parts[p]->values.template read<T>())
        *out++ = static_cast<T>(weights[p]) * value;
  });
  return all;
}

Tensor stacked_indices(const std::vector<const GradientPart*>& parts) {
  std::vector<std::int64_t> all;
  for (const auto* part : parts)
    for (std::int64_t i = 0; i < part->indices.size(); ++i)
      all.push_back(static_cast<std::int64_t>(part->indices.at(i)));
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(all.size())}, all);
}

}  // namespace

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

Parameters ParameterStore::parameters(bool with_names) const {
  Parameters result;
  result.version = version_;
  for (const auto& entry : entries_) {
    if (with_names) result.names.push_back(entry.name);
    result.values.push_back(entry.value);
  }
  return result;
}

void ParameterStore::check(const GradientPart& part) const {
  const auto where = text(name_, ": replica ", part.replica, ", step ", part.step);
  const auto found = index_.find(part.variable);
  if (found == index_.end())
    fail(Code::invalid_argument, where, ": there is no variable '", part.variable, "' here");
  const auto& value = entries_[found->second].value;
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

ParameterStore::Entry& ParameterStore::entry(const std::string& variable) {
  const auto found = index_.find(variable);
  if (found == index_.end())
    fail(Code::invalid_argument, name_, ": there is no variable '", variable, "' here");
  return entries_[found->second];
}

double ParameterStore::apply(const std::vector<GradientSet>& sets, IntraOp& intra) {
  std::vector<const GradientSet*> useful;
  double total = 0;
  for (const auto& set : sets)
    if (set.commit.weight > 0) {
      useful.push_back(&set);
      total += set.commit.weight;
    }
  const double learning_rate = schedule_.at(static_cast<std::int64_t>(version_));
  if (useful.empty()) return learning_rate;
  for (auto& entry : entries_) update(entry, useful, total, learning_rate, intra);
  ++version_;
  return learning_rate;
}

void ParameterStore::update(Entry& entry, const std::vector<const GradientSet*>& sets, double total,
                            double learning_rate, IntraOp& intra) {
  std::vector<const GradientPart*> dense, sparse, assigned;
  std::vector<double> dense_weights, sparse_weights, assigned_weights;
  double assigned_total = 0;
  for (const auto* set : sets)
    for (const auto& part : set->parts) {
      if (part.variable != entry.name) continue;
      const double weight = set->commit.weight;
      switch (part.kind) {
        case PartKind::gradient:
          dense.push_back(&part);
          dense_weights.push_back(weight / total);
          break;
        case PartKind::sparse_gradient:
          sparse.push_back(&part);
          sparse_weights.push_back(weight / total);
          break;
        case PartKind::assignment:
          assigned.push_back(&part);
          assigned_weights.push_back(weight);
          assigned_total += weight;
          break;
      }
    }

  if (!assigned.empty()) {
    if (assigned.size() == 1 || !is_floating(entry.value.dtype())) {
      entry.value = assigned.front()->values;
    } else {
      std::vector<const Tensor*> values;
      for (const auto* part : assigned) values.push_back(&part->values);
      for (auto& weight : assigned_weights) weight /= assigned_total;
      entry.value = weighted_sum(values, assigned_weights, intra);
    }
  }
  const auto step = static_cast<std::int64_t>(version_);
  if (!dense.empty()) {
    if (dense.size() == 1 && dense_weights[0] == 1) {
      optimizer_.apply(entry.value, entry.slots, dense[0]->values, learning_rate, step, intra);
    } else {
      std::vector<const Tensor*> values;
      for (const auto* part : dense) values.push_back(&part->values);
      optimizer_.apply(entry.value, entry.slots, weighted_sum(values, dense_weights, intra),
                       learning_rate, step, intra);
    }
  }
  if (!sparse.empty()) update_sparse(entry, sparse, sparse_weights, learning_rate, intra);

  if (average_decay_ > 0 && entry.trainable)
    update_average(entry.average, entry.value, average_decay_, intra);
}

void ParameterStore::update_sparse(Entry& entry, const std::vector<const GradientPart*>& parts,
                                   const std::vector<double>& weights, double learning_rate,
                                   IntraOp& intra) {
  const auto step = static_cast<std::int64_t>(version_);
  if (parts.size() == 1 && weights[0] == 1)
    optimizer_.apply_sparse(entry.value, entry.slots, parts[0]->indices, parts[0]->values,
                            learning_rate, step, intra);
  else
    optimizer_.apply_sparse(entry.value, entry.slots, stacked_indices(parts),
                            stacked_rows(parts, weights), learning_rate, step, intra);
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
