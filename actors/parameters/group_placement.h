#pragma once

#include <cstdint>
#include <vector>

#include "troupe/actors/parameters/placement.h"

namespace troupe {

struct GroupedRows {
  std::vector<PlacedRows> rows;               ///< as place_rows() gives them
  std::vector<std::uint32_t> group_of_shard;  ///< ascending
};

/// place_rows() for variables of several groups, numbered from 0, which have shards of their own.
/// Each group has one, and what is left of `shards` goes one by one to the group that has most
/// bytes for each of its shards. There are as many shards as groups at least. A function of the
/// placement is asked for a shard among those of the variable's group.
GroupedRows place_groups(const std::vector<Variable>& variables,
                         const std::vector<std::uint32_t>& group_of_variable, std::uint32_t shards,
                         const VariablePlacement& placement, std::uint64_t most_bytes);

}  // namespace troupe
