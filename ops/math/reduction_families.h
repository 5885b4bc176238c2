#pragma once

#include "troupe/ops/catalog.h"

// The parts of the family reduction_ops(), each in a file of its own.

namespace troupe {

OpFamily axis_reduction_ops();  // reduce_sum ... reduce_all, l2_loss
OpFamily prod_gradient_ops();   // reduce_prod_grad
OpFamily arg_ops();             // arg_max, arg_min
OpFamily broadcast_like_ops();  // broadcast_like, sum_to_like

}  // namespace troupe
