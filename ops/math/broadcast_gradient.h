#pragma once

#include "troupe/ops/gradient.h"

namespace troupe {

/// For an op of two operands that broadcast: a gradient of the output's shape,
/// summed to the shape of operand i. Adds no op where the shapes are surely equal.
Output unbroadcast(const Backward& backward, Output gradient, int i);

}  // namespace troupe
