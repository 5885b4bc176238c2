#pragma once

#include <vector>

#include "troupe/ops/parallel.h"
#include "troupe/ops/tensor.h"

namespace troupe {

/// The sum of weights[i] * values[i], added in order; the very tensor when there is one of
/// weight 1. All have the same shape and the same floating dtype; at least one.
Tensor weighted_sum(const TensorList& values, const std::vector<double>& weights, IntraOp& intra);

/// Rows of all tensors one below the other, each tensor scaled by its weight.
///
///   rows[i]   [n_i, ...]
///   result    [sum of n_i, ...]
Tensor stacked_rows(const TensorList& rows, const std::vector<double>& weights);

/// Indices of all tensors one after the other, as int64.
Tensor stacked_indices(const TensorList& indices);

/// The sum of the squares of all values, in double precision.
double squared_norm(const Tensor& values, IntraOp& intra);

/// Whether every value of a tensor of floating dtype is finite; true for any other.
bool all_finite(const Tensor& values, IntraOp& intra);

}  // namespace troupe
