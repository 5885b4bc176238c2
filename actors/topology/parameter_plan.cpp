#include "troupe/actors/topology/parameter_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "troupe/actors/aggregation/compression.h"
#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/parameters/group_placement.h"
#include "troupe/actors/training/fragments.h"

namespace troupe {
namespace {

std::uint64_t volume(const Shape& shape, std::int64_t rows) {
  std::uint64_t count = 1;
  for (const auto extent : shape.extents())
    count *= static_cast<std::uint64_t>(extent == Shape::kUnknown ? rows : extent);
  return count;
}

/// What a gradient of that type and so many values takes as it is pushed.
std::uint64_t pushed_bytes(const TensorSpec& spec, const GradientCompression& compression) {
  const auto count = volume(spec.shape, 1);
  const bool compressed = spec.dtype == DType::float32 || spec.dtype == DType::float64;
  switch (compressed ? compression.kind : CompressionKind::none) {
    case CompressionKind::none:
      break;
    case CompressionKind::bfloat16:
    case CompressionKind::float16:
      return 2 * count;
    case CompressionKind::top_k: {
      const auto kept = std::clamp<std::uint64_t>(
          static_cast<std::uint64_t>(std::ceil(compression.keep * static_cast<double>(count))), 1,
          std::max<std::uint64_t>(1, count));
      const bool large = count > std::numeric_limits<std::int32_t>::max();
      return kept * (size_of(spec.dtype) + size_of(large ? DType::int64 : DType::int32));
    }
  }
  return count * size_of(spec.dtype);
}

/// How many rows of the table a batch reads, if all of them are different ones.
std::int64_t rows_read(const Graph& graph, const Variable& table, std::int64_t rows) {
  std::uint64_t count = 0;
  for (const auto& node : graph.nodes())
    if (node.inputs.size() > 1 && node.inputs[0] == table.read())
      count += volume(node.inputs[1].shape(), rows);
  return static_cast<std::int64_t>(count);
}

GroupedRows place(const std::vector<Variable>& variables, const TrainingOptions& o) {
  std::vector<std::string> names;
  for (const auto& variable : variables) names.push_back(variable.name());
  return place_groups(variables, groups_of(names, o.aggregation.groups),
                      static_cast<std::uint32_t>(o.shards), o.placement, o.max_shard_bytes);
}

/// Whether a training of these options has tables: see Training.
std::vector<std::string> tables_of(const Model& model, const TrainingOptions& o) {
  if (make_policy(o.aggregation.policy)->local_steps() > 0 || o.publish.to || o.devices > 1)
    return {};
  return table_variables(model, o.tables);
}

/// Why the variable of that number, the rank-th by bytes, is in its shard, which has `load` bytes.
std::string reason(const TrainingOptions& o, const PlannedVariable& p, std::size_t number,
                   std::size_t rank, std::uint64_t load) {
  if (o.shards == 1) return "the only shard";
  if (o.placement.name() == VariablePlacement::by_bytes.name())
    return rank == 1 ? text("the largest; all shards were empty")
                     : text("number ", rank, " by bytes; shard ", p.shard, " had least: ", load,
                            " bytes");
  if (o.placement.name() == VariablePlacement::round_robin.name())
    return text("number ", number, " in order of creation, in turn");
  return "by a function of the program";
}

}  // namespace

std::vector<PlannedVariable> plan_parameters(const Model& model, const TrainingOptions& o,
                                             std::int64_t rows) {
  const auto variables = model.graph->variables();
  const auto tables = tables_of(model, o);
  const auto compression = GradientCompression::parse(o.aggregation.compression);
  const bool local = make_policy(o.aggregation.policy)->local_steps() > 0;
  const auto placed = place(variables, o);
  const auto& groups = o.aggregation.groups;
  std::vector<PlannedVariable> planned;
  for (const auto& part : placed.rows) {
    const auto& variable = variables[part.variable];
    auto& p = planned.emplace_back();
    p.name = variable.name();
    p.spec = variable.spec();
    p.cut = !part.whole;
    if (p.cut) {
      p.name += text(" rows ", part.first_row, " to ", part.first_row + part.rows - 1);
      p.spec.shape.set(0, part.rows);
    }
    p.bytes = volume(p.spec.shape, 1) * size_of(p.spec.dtype);
    p.trainable = variable.trainable();
    p.shard = part.shard;
    if (!groups.empty()) {
      const auto group = placed.group_of_shard.at(part.shard);
      p.policy = group == 0 ? o.aggregation.policy : groups[group - 1].policy;
      p.why = text(group == 0 ? "it has no policy of its own"
                              : "it is one of " + groups[group - 1].variables,
                   ": ", p.policy);
    }
    p.table = std::find(tables.begin(), tables.end(), variable.name()) != tables.end();
    p.pulled = p.bytes;
    if (p.trainable) p.pushed = local ? p.bytes : pushed_bytes(p.spec, compression);
    if (!p.table) continue;
    p.most_rows = std::min(p.spec.shape[0], rows_read(*model.graph, variable, rows));
    const auto row =
        p.spec.shape[0] == 0 ? 0 : p.bytes / static_cast<std::uint64_t>(p.spec.shape[0]);
    p.pulled = static_cast<std::uint64_t>(p.most_rows) * row;
    // With the number of each row.
    if (p.trainable)
      p.pushed = static_cast<std::uint64_t>(p.most_rows) * (row + size_of(DType::int64));
  }

  std::vector<std::size_t> order(planned.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return planned[a].bytes > planned[b].bytes;
  });
  std::map<std::uint32_t, std::uint64_t> load;
  std::size_t rank = 0;
  for (const auto i : order) {
    ++rank;
    auto& p = planned[i];
    if (p.why.empty()) p.why = reason(o, p, i, rank, load[p.shard]);
    load[p.shard] += p.bytes;
    if (p.cut) p.why += text("; cut, as it has more than ", o.max_shard_bytes, " bytes");
    if (p.table) p.why += text("; a batch reads ", p.most_rows, " of its rows at most");
  }
  return planned;
}

std::uint64_t all_reduce_bytes(const std::string& kind, int members, std::uint64_t gradients) {
  // A tree: all of it up, or all of it down. A ring: each chunk goes round, twice but for the
  // last hop.
  if (kind == "tree" || members < 2) return members < 2 ? 0 : gradients;
  const auto n = static_cast<std::uint64_t>(members);
  return (2 * (n - 1) * gradients + n - 1) / n;
}

}  // namespace troupe
