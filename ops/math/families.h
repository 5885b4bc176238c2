#pragma once

#include "troupe/ops/catalog.h"

// The parts of the family elementwise_ops(), each in a file of its own.

namespace troupe {

OpFamily arithmetic_ops();  // add ... squared_difference
OpFamily comparison_ops();  // equal ... greater_equal, logical_and ... logical_not
OpFamily select_ops();
OpFamily cast_ops();
OpFamily round_ops();       // round_to
OpFamily check_ops();       // check_numerics
OpFamily sum_ops();         // add_n
OpFamily unary_ops();       // exp ... erf
OpFamily activation_ops();  // tanh, sigmoid, relu ... and their gradients

}  // namespace troupe
