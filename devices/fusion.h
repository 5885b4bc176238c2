#pragma once

#include "troupe/devices/lowering.h"

namespace troupe {

/// Replaces groups of nodes by one fused node each, where nobody else needs what
/// lies between them; adds a note for each:
///
///   conv2d + bias (+ relu)   -> fused_conv2d
///   matmul + bias (+ relu)   -> fused_matmul
///   conv2d of few channels + bias + relu + max_pool -> fused_conv_bias_relu_pool,
///     and their gradients -> fused_conv_bias_relu_pool_grad
///
///   what fuse_gradients() does
///
/// A bias is bias_add, or add of a vector along the last axis.
void fuse(LoweredGraph& lowered);

}  // namespace troupe
