#pragma once

#include "troupe/ops/catalog.h"

// The parts of the family random_ops(), each in a file of its own.

namespace troupe {

OpFamily random_value_ops();  // random_uniform ... truncated_normal
OpFamily dropout_ops();

}  // namespace troupe
