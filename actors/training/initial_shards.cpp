#include "troupe/actors/training/initial_shards.h"

#include <algorithm>
#include <optional>

#include "troupe/actors/parameters/group_placement.h"
#include "troupe/ops/state.h"

namespace troupe {

namespace {

/// The value that every element of the variable begins with, if there is one.
std::optional<double> uniform_start(const Variable& variable) {
  const auto& attributes = variable.node->attributes;
  const auto& kind = attributes.get<std::string>("initializer");
  if (kind == "zeros") return 0;
  if (kind == "constant") return attributes.get<std::vector<double>>("initializer_values").at(0);
  return std::nullopt;
}

}  // namespace

std::vector<PlacedShard> place_initial_values(const std::vector<Variable>& variables,
                                              const std::vector<std::uint32_t>& groups,
                                              const TrainingOptions& o,
                                              const std::vector<std::string>& tables,
                                              std::uint64_t& bytes) {
  const auto rows = place_groups(variables, groups, static_cast<std::uint32_t>(o.shards),
                                 o.placement, o.max_shard_bytes);
  std::vector<PlacedShard> of_shards;
  for (const auto group : rows.group_of_shard) of_shards.push_back({group, {}});
  Tensor whole;
  std::optional<std::size_t> evaluated;  // `whole` is its value
  for (const auto& part : rows.rows) {
    const auto& variable = variables[part.variable];
    const auto& spec = variable.spec();
    auto shape = spec.shape;
    if (!part.whole) shape.set(0, part.rows);
    bytes += static_cast<std::uint64_t>(shape.volume()) * size_of(spec.dtype);
    const bool table = std::find(tables.begin(), tables.end(), variable.name()) != tables.end();
    ShardVariable placed{variable.name(), {}, variable.trainable()};
    if (!part.whole) {
      placed.first_row = part.first_row;
      placed.total_rows = spec.shape[0];
    }
    const auto start = uniform_start(variable);
    if (table && start) {
      placed.table.emplace(spec.dtype, shape, *start);
    } else {
      if (evaluated != part.variable) whole = initial_value(variable, o.seed);
      evaluated = part.variable;
      const auto values =
          part.whole ? whole : whole.slice(part.first_row, part.first_row + part.rows);
      if (table)
        placed.table.emplace(values);
      else
        placed.initial = part.whole ? values : values.clone();
    }
    of_shards[part.shard].variables.push_back(std::move(placed));
  }
  std::erase_if(of_shards, [](const auto& shard) { return shard.variables.empty(); });
  return of_shards;
}

}  // namespace troupe
