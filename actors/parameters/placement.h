#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/graph.h"

namespace troupe {

/// Which shard a variable lives in: a rule, or a function of one's own.
class VariablePlacement {
 public:
  /// The shard, below `shards`, of a variable. Called once for each, in order of creation.
  using Function = std::function<std::uint32_t(const Variable& variable, std::uint32_t shards)>;

  /// The largest first, each to the shard that has least: balances memory and traffic.
  static const VariablePlacement by_bytes;
  /// In order of creation, as TensorFlow's replica_device_setter.
  static const VariablePlacement round_robin;

  explicit VariablePlacement(Function function)
      : name_("function"), function_(std::move(function)) {}

  const std::string& name() const { return name_; }       ///< "by_bytes", "round_robin", "function"
  const Function& function() const { return function_; }  ///< empty for a rule
  /// Whether both are the same rule; functions cannot be compared.
  friend bool operator==(const VariablePlacement& a, const VariablePlacement& b) {
    return !a.function_ && !b.function_ && a.name_ == b.name_;
  }

 private:
  explicit VariablePlacement(std::string name) : name_(std::move(name)) {}

  std::string name_;
  Function function_;
};

/// "by_bytes" or "round_robin". Throws invalid_argument.
VariablePlacement parse_variable_placement(std::string_view name);

/// The shard of each variable, in the order given. Some shards stay empty when
/// there are fewer variables than shards. Throws invalid_argument for no shards, and, naming
/// the variable, for a function that answers a shard that there is not; what a function
/// throws comes through with the variable's name.
std::vector<std::uint32_t> place_variables(const std::vector<Variable>& variables,
                                           std::uint32_t shards,
                                           const VariablePlacement& placement);

/// Rows of one variable that live in one shard.
struct PlacedRows {
  std::size_t variable = 0;  ///< position in the list that was given
  std::uint32_t shard = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  bool whole = true;  ///< all of the variable
};

/// The same with variables of more than `most_bytes` cut by rows into as many parts of the
/// same size as are needed, at most one for each shard, as TensorFlow's
/// min_max_variable_partitioner does. The first part is placed as the variable would be,
/// those after it in the shards that follow; by bytes each part counts for itself. Only
/// variables of floating dtype are cut. 0: none is.
std::vector<PlacedRows> place_rows(const std::vector<Variable>& variables, std::uint32_t shards,
                                   const VariablePlacement& placement, std::uint64_t most_bytes);

}  // namespace troupe
