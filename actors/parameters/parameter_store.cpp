#include "troupe/actors/parameters/parameter_store.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/optim/ema.h"

namespace troupe {
namespace {

/// out = sum of weight[i] * parts[i], in order.
Tensor weighted_sum(const std::vector<const GradientPart*>& parts,
                    const std::vector<double>& weights, IntraOp& intra) {
  auto sum = Tensor::uninitialized(parts[0]->values.dtype(), parts[0]->values.shape());
  dispatch_floating(sum.dtype(), "gradient", [&]<class T>() {
    auto* out = sum.write<T>().data();
    constexpr double kCyclesPerValue = 1;
    intra.parallel_for(sum.size(), kCyclesPerValue * static_cast<double>(parts.size()),
                       [&](std::int64_t begin, std::int64_t end) {
                         for (std::size_t p = 0; p < parts.size(); ++p) {
                           const auto* in = parts[p]->values.read<T>().data();
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

// ---- what one step brings for one variable ---------------------------------------------------

double ParameterStore::Weighted::total() const {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

std::vector<double> ParameterStore::Weighted::shares(double total) const {
  auto shares = weights;
  for (auto& share : shares) share /= total;
  return shares;
}

Tensor ParameterStore::Weighted::mean(double total, IntraOp& intra) const {
  if (parts.size() == 1 && weights[0] == total) return parts[0]->values;
  return weighted_sum(parts, shares(total), intra);
}

std::pair<Tensor, Tensor> ParameterStore::Weighted::mean_rows(double total) const {
  if (parts.size() == 1 && weights[0] == total) return {parts[0]->indices, parts[0]->values};
  return {stacked_indices(parts), stacked_rows(parts, shares(total))};
}

void ParameterStore::Pushed::add(const GradientPart& part, double weight) {
  auto& list = part.kind == PartKind::gradient          ? gradients
               : part.kind == PartKind::sparse_gradient ? sparse
                                                        : assigned;
  list.parts.push_back(&part);
  list.weights.push_back(weight);
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

double ParameterStore::apply(const std::vector<GradientSet>& sets, IntraOp& intra) {
  const double learning_rate = schedule_.at(static_cast<std::int64_t>(version_));
  double total = 0;
  std::vector<Pushed> pushed(entries_.size());
  for (const auto& set : sets) {
    const double weight = set.commit.weight;
    if (!(weight > 0)) continue;
    total += weight;
    for (const auto& part : set.parts) pushed[index_.at(part.variable)].add(part, weight);
  }
  if (total == 0) return learning_rate;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    update(entries_[i], pushed[i], total, learning_rate, intra);
  ++version_;
  return learning_rate;
}

void ParameterStore::update(Entry& entry, const Pushed& pushed, double total, double learning_rate,
                            IntraOp& intra) {
  const auto step = static_cast<std::int64_t>(version_);
  const auto& [gradients, sparse, assigned] = pushed;
  if (!assigned.parts.empty()) {
    const bool first = assigned.parts.size() == 1 || !is_floating(entry.value.dtype());
    entry.value = first ? assigned.parts[0]->values : assigned.mean(assigned.total(), intra);
  }
  if (!gradients.parts.empty())
    optimizer_.apply(entry.value, entry.slots, gradients.mean(total, intra), learning_rate, step,
                     intra);
  if (!sparse.parts.empty()) {
    const auto [indices, rows] = sparse.mean_rows(total);
    optimizer_.apply_sparse(entry.value, entry.slots, indices, rows, learning_rate, step, intra);
  }
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
