#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/parameters/parameter_store.h"
#include "troupe/actors/training/training.h"

namespace troupe {

/// What a shard begins with.
struct PlacedShard {
  std::uint32_t group = 0;  ///< as groups_of() numbers them
  std::vector<ShardVariable> variables;
};

/// Of all shards that have variables: one without would have no version to speak of. Adds up the
/// bytes of all variables.
std::vector<PlacedShard> place_initial_values(const std::vector<Variable>& variables,
                                              const std::vector<std::uint32_t>& groups,
                                              const TrainingOptions& o,
                                              const std::vector<std::string>& tables,
                                              std::uint64_t& bytes);

}  // namespace troupe
