#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/op.h"

namespace troupe {

/// The op of that name. Throws not_found with the names that are near.
const OpDef& find_op(std::string_view name);

/// Whether there is an op of that name.
bool has_op(std::string_view name);

/// Adds an op of the user's own; call it before graphs that use it are built.
/// Throws already_exists when the name is taken.
void register_op(const OpDef& op);

/// All names, sorted.
std::vector<std::string> op_names();

// The families of ops, each in a file of its own.
using OpFamily = std::vector<const OpDef*>;
OpFamily state_ops();        // placeholder, variable, constant, assign, identity, no_op, group ...
OpFamily elementwise_ops();  // arithmetic, comparisons, activations, casts
OpFamily reduction_ops();    // sum, mean, argmax, l2_loss, clip_by_global_norm ...
OpFamily matmul_ops();       // matmul and its fusions
OpFamily array_ops();        // reshape, concat, gather, pad ...
OpFamily random_ops();       // random_uniform, dropout ...
OpFamily convolution_ops();  // conv2d, depthwise_conv2d and their gradients and fusions
OpFamily small_convolution_ops();  // a first layer with its pooling in one pass
OpFamily pooling_ops();            // max_pool, avg_pool
OpFamily normalization_ops();      // bias_add, lrn
OpFamily batch_norm_ops();         // batch_norm, batch_norm_inference
OpFamily softmax_ops();            // softmax, log_softmax
OpFamily loss_ops();               // (sparse) softmax cross entropy, in_top_k ...

}  // namespace troupe
