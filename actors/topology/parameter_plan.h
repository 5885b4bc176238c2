#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/training/training.h"

namespace troupe {

/// A variable, or rows of one that is cut, as a training places and moves it.
struct PlannedVariable {
  std::string name;  ///< "embedding rows 0 to 499"
  TensorSpec spec;   ///< of the part
  std::uint64_t bytes = 0;
  bool trainable = true;
  std::uint32_t shard = 0;
  std::string policy;  ///< of its shard, where groups of variables have their own; else empty
  std::string why;
  bool cut = false;            ///< it is some rows of the variable
  bool table = false;          ///< rows go to and fro, and these numbers are the most
  std::uint64_t pulled = 0;    ///< bytes to one replica each time
  std::uint64_t pushed = 0;    ///< bytes from it
  std::int64_t most_rows = 0;  ///< of a table that one batch reads
};

/// The variables of a model whose gradients have not been added yet, for replicas that compute
/// `rows` examples each time. Throws as place_rows().
std::vector<PlannedVariable> plan_parameters(const Model& model, const TrainingOptions& options,
                                             std::int64_t rows);

/// The most bytes that one member of an all-reduce sends to one other at each step, of gradients
/// of so many bytes.
std::uint64_t all_reduce_bytes(const std::string& kind, int members, std::uint64_t gradients);

}  // namespace troupe
