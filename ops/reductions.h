#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "troupe/ops/graph.h"

// Ops that combine the values along some axes. Axes may be negative and count
// from the end then; keep_dims leaves an extent of 1 where an axis was. The
// result does not depend on the number of threads.

namespace troupe {

/// The axes that a reduction runs over: all, or those listed.
struct Axes {
  Axes() = default;
  Axes(std::initializer_list<std::int64_t> axes) : list(axes), all(false) {}
  Axes(std::vector<std::int64_t> axes) : list(std::move(axes)), all(false) {}  // NOLINT: converts
  std::vector<std::int64_t> list;
  bool all = true;
};

/// Sums of float32 are accumulated in float64; integers wrap around. Of no values: 0.
Output reduce_sum(Output x, const Axes& axes = {}, bool keep_dims = false);
/// Floating only; of no values: NaN.
Output reduce_mean(Output x, const Axes& axes = {}, bool keep_dims = false);
/// Of no values: 1.
Output reduce_prod(Output x, const Axes& axes = {}, bool keep_dims = false);
/// NaN when a value is. Equal winners share the gradient. Of no values: the
/// lowest value of the dtype (-infinity).
Output reduce_max(Output x, const Axes& axes = {}, bool keep_dims = false);
/// As reduce_max; of no values the highest.
Output reduce_min(Output x, const Axes& axes = {}, bool keep_dims = false);
/// Of bools; of no values false.
Output reduce_any(Output x, const Axes& axes = {}, bool keep_dims = false);
/// Of bools; of no values true.
Output reduce_all(Output x, const Axes& axes = {}, bool keep_dims = false);

/// Half the sum of squares, a scalar: what weight decay adds to a loss.
Output l2_loss(Output x);

/// log(sum(exp(x))), without overflow.
Output logsumexp(Output x, const Axes& axes = {}, bool keep_dims = false);

/// int64: the index along the axis of the largest (smallest) value. Of equal ones
/// the first; NaN counts as the best, as in NumPy. The extent must not be 0.
Output arg_max(Output x, int axis);
Output arg_min(Output x, int axis);

/// The root of the sum of all squares of all tensors, a scalar.
Output global_norm(const OutputList& values);

/// All tensors times clip_norm / max(clip_norm, norm): their global norm is then
/// at most clip_norm, and their direction the same. `norm` is computed when it
/// is not given. Not finite values make the result NaN.
OutputList clip_by_global_norm(const OutputList& values, double clip_norm, Output norm = {});

/// x summed over the axes along which `like` was broadcast to x's shape; x
/// itself when the shapes are known to be equal.
Output sum_to_like(Output x, Output like);

/// x stretched to the shape of `like`, by NumPy's rule.
Output broadcast_like(Output x, Output like);

}  // namespace troupe
