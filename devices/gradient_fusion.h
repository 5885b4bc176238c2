#pragma once

#include "troupe/devices/lowering.h"

namespace troupe {

/// The part of fuse() that is about the way back. Call it last, when bias and ReLU
/// have gone into what stands in front of them:
///
///   max_pool and max_pool_grad, with a relu_grad and bias_add_grad behind it
///     -> max_pool_winners, max_pool_winners_grad and max_pool_winners_bias_grad
///   relu_grad + bias_add_grad -> relu_bias_grad
void fuse_gradients(LoweredGraph& lowered);

}  // namespace troupe
