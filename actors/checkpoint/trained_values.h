#pragma once

#include <map>
#include <string>

#include "troupe/actors/checkpoint/checkpoint.h"

namespace troupe {

/// The variables of a checkpoint as a trained model uses them: where a variable has a
/// moving average, that instead of its value. By name.
std::map<std::string, Tensor> trained_values(const Checkpoint& checkpoint);

}  // namespace troupe
