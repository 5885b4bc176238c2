#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "troupe/ops/graph.h"

namespace troupe {

/// Which shard a variable lives in.
enum class VariablePlacement {
  by_bytes,  ///< the largest first, each to the shard that has least: balances memory and traffic
  round_robin,  ///< in order of creation, as TensorFlow's replica_device_setter
};

/// "by_bytes" or "round_robin". Throws invalid_argument.
VariablePlacement parse_variable_placement(std::string_view name);

/// The shard of each variable, in the order given. Some shards stay empty when
/// there are fewer variables than shards. Throws invalid_argument for no shards.
std::vector<std::uint32_t> place_variables(const std::vector<Variable>& variables,
                                           std::uint32_t shards, VariablePlacement placement);

}  // namespace troupe
