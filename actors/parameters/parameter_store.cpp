#include "troupe/actors/parameters/parameter_store.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/actors/aggregation/compression.h"
#include "troupe/actors/aggregation/weighted_sum.h"
#include "troupe/ops/optim/ema.h"
#include "troupe/ops/optim/summed_rows.h"

namespace troupe {

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

namespace {

Tensor tensor_of(const std::vector<std::int64_t>& indices) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(indices.size())}, indices);
}

/// The mean of what replicas assign; the first where there is no mean.
Tensor assigned_value(const Pushed& pushed, IntraOp& intra) {
  if (pushed.values.size() == 1 || !is_floating(pushed.values[0].dtype())) return pushed.values[0];
  auto shares = pushed.shares;
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (auto& share : shares) share /= total;
  return weighted_sum(pushed.values, shares, intra);
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

/// Without a policy dense gradients are left out.
CombinedGradients::OfVariable ParameterStore::combine_parts(std::size_t entry,
                                                            const PushedParts& pushed,
                                                            const AggregationPolicy* policy,
                                                            IntraOp& intra) const {
  CombinedGradients::OfVariable v;
  const auto& [gradients, sparse, all_assigned] = pushed;
  if (policy && !gradients.values.empty())
    v.gradient = policy->reduce(gradients.values, gradients.shares, intra);
  if (!sparse.values.empty()) {
    auto summed = sum_rows(stacked_indices(sparse.indices),
                           stacked_rows(sparse.values, sparse.shares), entries_[entry].shape()[0]);
    v.indices = std::move(summed.indices);
    v.rows = std::move(summed.rows);
  }
  for (const auto& assigned : all_assigned)
    v.assigned.push_back(assigned.values.empty() ? Tensor() : assigned_value(assigned, intra));
  return v;
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
    if (!index_.emplace(variable.name, entries_.size()).second)
      fail(Code::already_exists, name_, ": variable '", variable.name, "' is given twice");
    entries_.push_back(made(variable));
  }
}

ParameterStore::Entry ParameterStore::made(const ShardVariable& variable) const {
  Entry entry;
  entry.name = variable.name;
  entry.trainable = variable.trainable;
  entry.first_row = variable.first_row;
  entry.total_rows = variable.total_rows;
  if (!variable.table) {
    entry.value = variable.initial;
    if (!variable.trainable) return entry;
    entry.slots = optimizer_.initial_slots(variable.initial.dtype(), variable.initial.shape());
    if (average_decay_ > 0) entry.average = variable.initial.clone();
    return entry;
  }
  const auto& table = *variable.table;
  entry.table = Table{table, {}, {}};
  if (!variable.trainable) return entry;
  for (const auto& one : optimizer_.initial_slots(table.dtype(), {1}))
    entry.table->slots.emplace_back(table.dtype(), table.shape(), one.at(0));
  if (average_decay_ > 0) entry.table->average = table;
  return entry;
}

std::uint64_t ParameterStore::bytes() const {
  std::uint64_t total = 0;
  for (const auto& entry : entries_) {
    if (const auto& table = entry.table) {
      total += table->value.byte_size() * (1 + table->slots.size() + (table->average ? 1 : 0));
      continue;
    }
    total += entry.value.byte_size();
    for (const auto& slot : entry.slots) total += slot.byte_size();
    if (average_decay_ > 0 && entry.trainable) total += entry.average.byte_size();
  }
  return total;
}

Parameters ParameterStore::parameters(bool with_names, bool with_slots, bool averages) const {
  Parameters result;
  const auto slots = optimizer_.slot_names();
  result.version = version_;
  const auto is_split = [](const Entry& entry) { return entry.total_rows > 0; };
  const bool split = with_names && std::any_of(entries_.begin(), entries_.end(), is_split);
  for (const auto& entry : entries_) {
    if (with_names) result.names.push_back(entry.name);
    if (split)
      result.ranges.push_back(is_split(entry)
                                  ? RowRange{entry.first_row, entry.shape()[0], entry.total_rows}
                                  : RowRange{});
    const bool average = averages && average_decay_ > 0 && entry.trainable && !entry.table;
    result.values.push_back(average ? entry.average : entry.value);
    for (std::size_t i = 0; with_slots && i < entry.slots.size(); ++i)
      result.slots.push_back(
          {entry.name, slots.at(i), entry.slots[i], {}, entry.first_row, entry.total_rows});
  }
  return result;
}

Tensor ParameterStore::rows(const WantedRows& wanted, bool averages) const {
  const auto found = index_.find(wanted.variable);
  if (found == index_.end())
    fail(Code::not_found, name_, ": there is no variable '", wanted.variable, "' here");
  const auto& entry = entries_[found->second];
  if (entry.shape().rank() == 0)
    fail(Code::invalid_argument, name_, ": variable '", entry.name, "' is a scalar without rows");
  if (wanted.ids.dtype() != DType::int64)
    fail(Code::invalid_argument, name_, ": rows of variable '", entry.name,
         "' are asked for by numbers of ", wanted.ids.dtype(), ", not int64");
  const auto count = entry.shape()[0];
  std::vector<std::int64_t> ids;
  ids.reserve(static_cast<std::size_t>(wanted.ids.size()));
  for (const auto id : wanted.ids.read<std::int64_t>()) {
    if (id < entry.first_row || id - entry.first_row >= count)
      fail(Code::out_of_range, name_, ": variable '", entry.name, "' has rows [", entry.first_row,
           ", ", entry.first_row + count, ") here, but row ", id, " was asked for");
    ids.push_back(id - entry.first_row);
  }
  if (entry.table)
    return (averages && entry.table->average ? *entry.table->average : entry.table->value)
        .read(ids);
  const auto& values =
      averages && average_decay_ > 0 && entry.trainable ? entry.average : entry.value;
  auto rows = Tensor::uninitialized(values.dtype(), values.shape().without_first().with_first(
                                                        static_cast<std::int64_t>(ids.size())));
  const auto row = values.byte_size() / static_cast<std::size_t>(count);
  auto* to = rows.mutable_data();
  for (const auto id : ids) {
    std::memcpy(to, values.data() + static_cast<std::size_t>(id) * row, row);
    to += row;
  }
  return rows;
}

WantedRows ParameterStore::those_here(const WantedRows& wanted) const {
  const auto found = index_.find(wanted.variable);
  if (found == index_.end() || entries_[found->second].total_rows == 0) return wanted;
  const auto& entry = entries_[found->second];
  std::vector<std::int64_t> ids;
  for (const auto id : wanted.ids.read<std::int64_t>())
    if (id >= entry.first_row && id < entry.first_row + entry.shape()[0]) ids.push_back(id);
  return {wanted.variable, tensor_of(ids)};
}

std::size_t ParameterStore::position(const std::string& variable) const {
  const auto found = index_.find(variable);
  if (found == index_.end())
    fail(Code::invalid_argument, name_, ": there is no variable '", variable, "' here");
  return found->second;
}

namespace {

bool is_compressed(const GradientPart& part) {
  const auto dtype = part.values.dtype();
  return part.kind == PartKind::gradient &&
         (part.indices.size() > 0 || dtype == DType::bfloat16 || dtype == DType::float16);
}

}  // namespace

void ParameterStore::decompress(GradientPart& part) const {
  const auto found = index_.find(part.variable);
  if (!is_compressed(part) || found == index_.end()) return;
  const auto& entry = entries_[found->second];
  try {
    part.values = decompressed({part.values, part.indices}, entry.dtype(), entry.shape());
    part.indices = Tensor();
  } catch (const Error&) {
  }
}

void ParameterStore::check(const GradientPart& part) const {
  const auto where = text(name_, ": replica ", part.replica, ", step ", part.step);
  const auto found = index_.find(part.variable);
  if (found == index_.end())
    fail(Code::invalid_argument, where, ": there is no variable '", part.variable, "' here");
  const auto& entry = entries_[found->second];
  const auto& shape = entry.shape();
  if (part.kind == PartKind::assignment && entry.table)
    fail(Code::invalid_argument, where, ": variable '", part.variable,
         "' is a table, whose rows have gradients, but cannot be assigned to");
  if (!part.slot.empty()) {
    const auto slots = optimizer_.slot_names();
    if (entry.slots.empty() || std::find(slots.begin(), slots.end(), part.slot) == slots.end())
      fail(Code::invalid_argument, where, ": variable '", part.variable, "' has no slot '",
           part.slot, "'");
  }
  if (is_compressed(part)) {
    try {
      (void)decompressed({part.values, part.indices}, entry.dtype(), shape);
    } catch (const Error& error) {
      throw error.within(text(where, ": variable '", part.variable, "'"));
    }
  }
  if (part.values.dtype() != entry.dtype())
    fail(Code::invalid_argument, where, ": variable '", part.variable, "' is ", entry.dtype(),
         ", but what was pushed is ", part.values.dtype());
  if (part.kind != PartKind::sparse_gradient) {
    if (!(part.values.shape() == shape))
      fail(Code::invalid_argument, where, ": variable '", part.variable, "' has shape ", shape,
           ", but what was pushed has ", part.values.shape());
    return;
  }
  if (part.indices.dtype() != DType::int32 && part.indices.dtype() != DType::int64)
    fail(Code::invalid_argument, where, ": rows of variable '", part.variable,
         "' were pushed with numbers of ", part.indices.dtype(), ", not int32 or int64");
  const auto rows = part.indices.size();
  if (shape.rank() == 0 || part.indices.shape().rank() != 1 ||
      !(part.values.shape() == shape.without_first().with_first(rows)))
    fail(Code::invalid_argument, where, ": variable '", part.variable, "' has shape ", shape,
         ", but ", rows, " indices came with rows of shape ", part.values.shape());
  for (std::int64_t i = 0; i < rows; ++i) {
    const double row = part.indices.at(i);
    if (row < 0 || row >= static_cast<double>(shape[0]))
      fail(Code::out_of_range, where, ": variable '", part.variable, "' has ", shape[0],
           " rows, but row ", row, " was pushed");
  }
}

// ---- updates ---------------------------------------------------------------------------------

CombinedGradients ParameterStore::combine(const std::vector<GradientSet>& sets,
                                          const AggregationPolicy& policy, IntraOp& intra) const {
  CombinedGradients combined;
  const auto parts = parts_by_variable(sets, index_, optimizer_.slot_names());
  for (std::size_t i = 0; i < entries_.size(); ++i)
    combined.variables.push_back(combine_parts(i, parts[i], &policy, intra));
  return combined;
}

double ParameterStore::apply(const std::vector<GradientSet>& sets, const AggregationPolicy& policy,
                             std::uint64_t updates, IntraOp& intra) {
  const double learning_rate = schedule_.at(static_cast<std::int64_t>(version_));
  const auto parts = parts_by_variable(sets, index_, optimizer_.slot_names());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool in_one_pass = policy.adds_up() && !entries_[i].table;
    update(entries_[i], combine_parts(i, parts[i], in_one_pass ? nullptr : &policy, intra),
           in_one_pass ? parts[i].gradients : Pushed(), learning_rate, intra);
  }
  version_ += updates;
  return learning_rate;
}

double ParameterStore::apply(CombinedGradients combined, IntraOp& intra) {
  const double learning_rate = schedule_.at(static_cast<std::int64_t>(version_));
  for (std::size_t i = 0; i < entries_.size(); ++i)
    update(entries_[i], std::move(combined.variables[i]), {}, learning_rate, intra);
  version_ += combined.updates;
  return learning_rate;
}

double ParameterStore::apply(const std::vector<GradientSet>& sets, IntraOp& intra) {
  return apply(sets, SyncPolicy(), 1, intra);
}

/// `added_up` are dense gradients in place of the sum of them.
void ParameterStore::update(Entry& entry, CombinedGradients::OfVariable given,
                            const Pushed& added_up, double learning_rate, IntraOp& intra) {
  if (entry.table) return update_table(*entry.table, given, learning_rate, intra);
  const auto step = static_cast<std::int64_t>(version_);
  if (!given.assigned.empty()) {
    const auto is_given = [](const Tensor& t) { return t.size() > 0; };
    if (is_given(given.assigned[0])) entry.value = std::move(given.assigned[0]);
    for (std::size_t s = 0; s < entry.slots.size(); ++s)
      if (is_given(given.assigned[1 + s])) entry.slots[s] = std::move(given.assigned[1 + s]);
  }
  if (given.gradient.size() > 0)
    optimizer_.apply(entry.value, entry.slots, given.gradient, learning_rate, step, intra);
  if (!added_up.values.empty())
    optimizer_.apply(entry.value, entry.slots, added_up.values, added_up.shares, learning_rate,
                     step, intra);
  if (!given.indices.empty())
    optimizer_.apply_sparse(entry.value, entry.slots, tensor_of(given.indices), given.rows,
                            learning_rate, step, intra);
  if (average_decay_ > 0 && entry.trainable)
    update_average(entry.average, entry.value, average_decay(average_decay_, step), intra);
}

void ParameterStore::update_table(Table& table, const CombinedGradients::OfVariable& given,
                                  double learning_rate, IntraOp& intra) {
  const auto step = static_cast<std::int64_t>(version_);
  if (given.gradient.size() > 0 || (!given.indices.empty() && optimizer_.changes_absent_rows())) {
    update_all_rows(table, given, learning_rate, intra);
  } else if (!given.indices.empty()) {
    std::vector<RowPlace> places;
    places.reserve(given.indices.size());
    for (const auto id : given.indices) {
      auto& place = places.emplace_back();
      place.value = table.value.row(id);
      for (std::size_t s = 0; s < table.slots.size(); ++s) place.slots[s] = table.slots[s].row(id);
    }
    optimizer_.apply_rows(places, given.rows, learning_rate, step, intra);
  }
  if (!table.average) return;
  const auto decay = average_decay(average_decay_, step);
  for (std::size_t i = 0; i < table.value.blocks().size(); ++i)
    update_average(table.average->blocks()[i], table.value.blocks()[i], decay, intra);
}

/// As if the table were a tensor with a dense gradient, block by block.
void ParameterStore::update_all_rows(Table& table, const CombinedGradients::OfVariable& given,
                                     double learning_rate, IntraOp& intra) {
  const auto step = static_cast<std::int64_t>(version_);
  std::size_t next = 0;  // of the sparse gradient's rows
  for (std::size_t block = 0; block < table.value.blocks().size(); ++block) {
    auto& value = table.value.blocks()[block];
    const auto first = table.value.first_row(block);
    const auto end = first + value.shape()[0];
    auto gradient = given.gradient.size() > 0 ? given.gradient.slice(first, end)
                                              : Tensor(value.dtype(), value.shape());
    const auto row = table.value.row_bytes();
    for (; next < given.indices.size() && given.indices[next] < end; ++next)
      std::memcpy(
          gradient.mutable_data() + static_cast<std::size_t>(given.indices[next] - first) * row,
          given.rows.data() + next * row, row);
    TensorList slots;
    for (auto& slot : table.slots) slots.push_back(std::move(slot.blocks()[block]));
    optimizer_.apply(value, slots, gradient, learning_rate, step, intra);
    for (std::size_t s = 0; s < slots.size(); ++s)
      table.slots[s].blocks()[block] = std::move(slots[s]);
  }
}

// ---- snapshots -------------------------------------------------------------------------------

ShardSnapshot ParameterStore::snapshot(std::uint32_t shard) const {
  ShardSnapshot snapshot{shard, version_, {}};
  const auto slots = optimizer_.slot_names();
  for (const auto& entry : entries_) {
    const auto add = [&](const std::string& slot, const Tensor& values, const RowTable* table) {
      snapshot.tensors.push_back({entry.name, slot, values, table ? table->blocks() : TensorList(),
                                  entry.first_row, entry.total_rows});
    };
    const auto* table = entry.table ? &*entry.table : nullptr;
    add("", entry.value, table ? &table->value : nullptr);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      if (table && s < table->slots.size()) add(slots[s], {}, &table->slots[s]);
      if (!table && s < entry.slots.size()) add(slots[s], entry.slots[s], nullptr);
    }
    if (average_decay_ > 0 && entry.trainable)
      add("average", entry.average, table ? &*table->average : nullptr);
  }
  return snapshot;
}

ParameterStore::Target ParameterStore::target(Entry& entry, const std::string& slot) const {
  auto* table = entry.table ? &*entry.table : nullptr;
  if (slot.empty()) return table ? Target{nullptr, &table->value} : Target{&entry.value, nullptr};
  if (slot == "average") {
    if (average_decay_ == 0 || !entry.trainable) return {};
    return table ? Target{nullptr, &*table->average} : Target{&entry.average, nullptr};
  }
  const auto slots = optimizer_.slot_names();
  const auto at =
      static_cast<std::size_t>(std::find(slots.begin(), slots.end(), slot) - slots.begin());
  if (table) return {nullptr, at < table->slots.size() ? &table->slots[at] : nullptr};
  return {at < entry.slots.size() ? &entry.slots[at] : nullptr, nullptr};
}

/// Returns how many rows of the entry's value (1 for a scalar) were among the saved ones.
std::int64_t ParameterStore::take_over(Entry& entry, const SavedTensor& saved) const {
  const auto to = target(entry, saved.slot);
  if (!to.tensor && !to.table) return 0;  // another optimizer's slot
  const auto& blocks = saved.blocks;
  const auto dtype = blocks.empty() ? saved.values.dtype() : blocks[0].dtype();
  auto shape = blocks.empty() ? saved.values.shape() : blocks[0].shape();
  if (!blocks.empty()) {
    std::int64_t rows = 0;
    for (const auto& block : blocks) rows += block.shape()[0];
    shape.set(0, rows);
  }
  auto whole_saved = shape;
  if (saved.total_rows > 0) whole_saved.set(0, saved.total_rows);
  auto whole = entry.shape();
  if (entry.total_rows > 0) whole.set(0, entry.total_rows);
  if (entry.dtype() != dtype || !(whole == whole_saved))
    fail(Code::invalid_argument, name_, ": variable '", saved.variable, "'",
         saved.slot.empty() ? "" : text(" (", saved.slot, ")"), " is ", entry.dtype(), " ", whole,
         ", but the checkpoint has ", dtype, " ", whole_saved);
  if (to.tensor && blocks.empty() && entry.shape() == shape && entry.first_row == saved.first_row) {
    *to.tensor = saved.values;
    return shape.rank() == 0 ? 1 : shape[0];
  }
  // Rows that both have, piece by piece.
  std::int64_t taken = 0;
  auto at = saved.first_row;
  const auto end = entry.first_row + entry.shape()[0];
  for (const auto& piece : blocks.empty() ? TensorList{saved.values} : blocks) {
    const auto begin = std::max(at, entry.first_row);
    const auto until = std::min(at + piece.shape()[0], end);
    if (begin < until) {
      const auto rows = piece.slice(begin - at, until - at);
      if (to.table) {
        to.table->assign(begin - entry.first_row, rows);
      } else {
        const auto row = rows.byte_size() / static_cast<std::size_t>(rows.shape()[0]);
        std::memcpy(
            to.tensor->mutable_data() + static_cast<std::size_t>(begin - entry.first_row) * row,
            rows.data(), rows.byte_size());
      }
      taken += until - begin;
    }
    at += piece.shape()[0];
  }
  return taken;
}

void ParameterStore::restore(const ShardSnapshot& snapshot) {
  auto restored = entries_;
  std::vector<std::int64_t> seen(entries_.size());
  std::vector<std::int64_t> averaged(entries_.size());
  for (const auto& saved : snapshot.tensors) {
    const auto found = index_.find(saved.variable);
    if (found == index_.end()) continue;  // of another shard, or not used any more
    const auto taken = take_over(restored[found->second], saved);
    if (saved.slot.empty()) seen[found->second] += taken;
    if (saved.slot == "average") averaged[found->second] += taken;
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto& shape = entries_[i].shape();
    if (seen[i] < (shape.rank() == 0 ? 1 : shape[0]))
      fail(Code::invalid_argument, name_, ": the checkpoint has no variable '", entries_[i].name,
           "'", seen[i] > 0 ? text(", but for ", seen[i], " of its rows") : "");
  }
  // An average that the checkpoint does not have begins with its values, not with the first ones.
  for (std::size_t i = 0; i < averaged.size(); ++i) {
    auto& entry = restored[i];
    if (average_decay_ == 0 || !entry.trainable || averaged[i] > 0) continue;
    if (entry.table)
      entry.table->average = entry.table->value;
    else
      entry.average = entry.value.clone();
  }
  entries_ = std::move(restored);
  version_ = snapshot.version;
}

}  // namespace troupe
