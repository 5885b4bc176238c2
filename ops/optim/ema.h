#pragma once

#include <cstdint>
#include <optional>

#include "troupe/ops/parallel.h"
#include "troupe/ops/tensor.h"

namespace troupe {

/// How much of an exponential moving average stays at each update: `decay`, or,
/// given how many updates there have been, at most (1 + n) / (10 + n), so that
/// the average moves faster at the beginning.
double average_decay(double decay, std::optional<std::int64_t> num_updates = {});

/// average -= (1 - decay) * (average - value). A shared average is left alone
/// and written anew. Throws invalid_argument when dtypes or shapes differ.
void update_average(Tensor& average, const Tensor& value, double decay, IntraOp& intra = serial());

}  // namespace troupe
