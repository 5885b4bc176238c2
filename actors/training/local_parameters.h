#pragma once

#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/actors/parameters/parameter_store.h"
#include "troupe/actors/training/fragments.h"

namespace troupe {

/// The parameters of one replica between two means over all replicas (local SGD): with the
/// optimizer's slots, and updated as a shard would.
class LocalParameters {
 public:
  struct Options {
    std::string name;  ///< in front of errors
    OptimizerConfig optimizer;
    Schedule schedule;
    double clip_norm = 0;  ///< of the gradient of each step; 0 for any
  };
  LocalParameters(Options options, const ModelFragment& fragment);

  /// Begins anew with the values of the fragment's variables, and those slots.
  void start(Version version, const TensorList& values, std::vector<SavedTensor> slots);
  void step(std::vector<GradientPart> parts);

  /// In the order of the fragment's variables.
  TensorList values() const { return store_->parameters(false).values; }
  /// Everything as what is pushed to the shards.
  std::vector<GradientPart> assignments() const;

 private:
  Options options_;
  std::vector<std::string> variables_;
  std::vector<bool> trainable_;
  std::optional<ParameterStore> store_;
  SyncPolicy sum_;
};

}  // namespace troupe
