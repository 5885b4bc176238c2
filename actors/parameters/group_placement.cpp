#include "troupe/actors/parameters/group_placement.h"

#include <algorithm>
#include <map>

namespace troupe {
namespace {

struct Group {
  std::vector<std::size_t> members;  ///< positions among all variables
  std::uint64_t bytes = 0;
  std::uint32_t shards = 1;
};

std::map<std::uint32_t, Group> grouped(const std::vector<Variable>& variables,
                                       const std::vector<std::uint32_t>& group_of_variable) {
  std::map<std::uint32_t, Group> groups;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto& spec = variables[i].spec();
    auto& group = groups[group_of_variable[i]];
    group.members.push_back(i);
    group.bytes += static_cast<std::uint64_t>(spec.shape.volume()) * size_of(spec.dtype);
  }
  return groups;
}

}  // namespace

GroupedRows place_groups(const std::vector<Variable>& variables,
                         const std::vector<std::uint32_t>& group_of_variable, std::uint32_t shards,
                         const VariablePlacement& placement, std::uint64_t most_bytes) {
  auto groups = grouped(variables, group_of_variable);
  if (groups.size() < 2)
    return {place_rows(variables, shards, placement, most_bytes),
            std::vector<std::uint32_t>(shards)};
  for (auto left = shards - std::min<std::size_t>(shards, groups.size()); left > 0; --left) {
    const auto fullest = std::max_element(groups.begin(), groups.end(), [](auto& a, auto& b) {
      return a.second.bytes / a.second.shards < b.second.bytes / b.second.shards;
    });
    ++fullest->second.shards;
  }
  GroupedRows placed;
  for (const auto& [number, group] : groups) {
    const auto first = static_cast<std::uint32_t>(placed.group_of_shard.size());
    std::vector<Variable> members;
    for (const auto i : group.members) members.push_back(variables[i]);
    for (auto part : place_rows(members, group.shards, placement, most_bytes)) {
      part.variable = group.members[part.variable];
      part.shard += first;
      placed.rows.push_back(part);
    }
    placed.group_of_shard.insert(placed.group_of_shard.end(), group.shards, number);
  }
  return placed;
}

}  // namespace troupe
