#pragma once

#include <string>
#include <vector>

#include "troupe/actors/training/training.h"

namespace troupe {

/// An option that does not go with the others.
struct OptionProblem {
  std::string option;  ///< "aggregation.compression", "precision", ...
  int group = -1;      ///< for "aggregation.groups": which one
  Error error;
};

/// What is wrong with how gradients become updates when the run has `policy`. `table` is a
/// variable of which replicas only have rows, if there is one.
std::vector<OptionProblem> policy_problems(const TrainingOptions& options,
                                           const std::string& policy,
                                           const std::string& table = {});

/// Throws the first of them.
void expect_policy_fits(const TrainingOptions& options, const std::string& policy,
                        const std::string& table = {});

/// Whether replicas add up gradients among themselves.
bool all_reduces(const TrainingOptions& options);

}  // namespace troupe
