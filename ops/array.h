#pragma once

#include <cstdint>
#include <vector>

#include "troupe/ops/graph.h"

namespace troupe {

// Ops that move values. Negative axes count from the end. Where nothing else is
// said they take every dtype, strings included, and throw invalid_argument,
// naming the node, for axes, extents and lengths that do not fit.

// Another shape. These share the values and copy nothing.

/// The same values in row-major order; one extent may be -1 and is computed.
Output reshape(Output x, const Shape& shape);
/// x in the shape that `like` has when the graph runs; its values do not matter.
Output reshape_like(Output x, Output like);
/// An axis of extent 1 in front of `axis`; -1 adds one at the end.
Output expand_dims(Output x, int axis);
/// Without these axes, which must have extent 1; without all of extent 1 when none is given.
Output squeeze(Output x, const std::vector<std::int64_t>& axes = {});
/// [n, a, b, ...] to [n, a * b * ...].
Output flatten(Output x);

/// Axis i of the result is axis axes[i] of x; no axes reverses their order.
Output transpose(Output x, const std::vector<std::int64_t>& axes = {});

// Joining and cutting.

/// One after the other along an axis; the other extents must be equal.
Output concat(const OutputList& parts, int axis);
/// Equal parts along an axis whose extent `count` divides.
OutputList split(Output x, int count, int axis);
/// Parts of these extents along an axis; one may be -1 and takes the rest.
OutputList split(Output x, const std::vector<std::int64_t>& sizes, int axis);
/// Tensors of one shape along a new axis.
Output stack(const OutputList& parts, int axis = 0);
/// The inverse of stack. The extent must be known when the graph is built.
OutputList unstack(Output x, int axis = 0);

/// Values begin[i] to begin[i] + size[i] of axis i; size -1 means to the end.
Output slice(Output x, const std::vector<std::int64_t>& begin,
             const std::vector<std::int64_t>& size);
/// x[begin:end:stride] for each axis, as in Python: negative indices count from
/// the end, and those beyond it are clipped. Axes that are not listed are kept
/// whole. To run backwards over a whole axis: begin -1, end kBeyond, stride -1.
Output strided_slice(Output x, const std::vector<std::int64_t>& begin,
                     const std::vector<std::int64_t>& end,
                     const std::vector<std::int64_t>& strides = {});
/// As an end of strided_slice: further than any axis reaches, in front of its first value.
inline constexpr std::int64_t kBeyond = INT64_MIN;
/// Runs backwards along these axes.
Output reverse(Output x, const std::vector<std::int64_t>& axes);

/// Adds paddings[2 i] values in front of axis i and paddings[2 i + 1] behind it.
Output pad(Output x, const std::vector<std::int64_t>& paddings, double value = 0);
/// The same, filled with what is mirrored at the edge: [1 2 3] by 2, 1 is [3 2 1 2 3 2].
/// Paddings must be smaller than the extent of their axis.
Output pad_reflect(Output x, const std::vector<std::int64_t>& paddings);
/// Repeats axis i multiples[i] times.
Output tile(Output x, const std::vector<std::int64_t>& multiples);

/// The entries of an axis that int32 or int64 `indices` of any shape name:
/// x [..., n, ...] with indices [a, b] gives [..., a, b, ...]. Running throws
/// invalid_argument, naming node, index and position, for one outside [0, n).
/// The gradient on axis 0 of a table of known shape is sparse.
Output gather(Output x, Output indices, int axis = 0);
/// Zeros of this shape with row i of `rows` added to row indices[i]; indices
/// [count] may repeat, rows is [count, ...]. float32 and float64.
Output scatter_rows(Output indices, Output rows, const Shape& shape);

struct OneHotOptions {
  int axis = -1;  ///< where the new axis stands in the result
  double on = 1;
  double off = 0;
  DType dtype = DType::float32;
};
/// A new axis of extent `depth`: `on` at the index, `off` elsewhere and
/// everywhere for an index outside [0, depth).
Output one_hot(Output indices, std::int64_t depth, const OneHotOptions& options = {});

struct CumsumOptions {
  bool exclusive = false;  ///< without the value itself
  bool reverse = false;    ///< from the last to the first
};
/// Sums of all values up to each one along an axis. Numeric dtypes.
Output cumsum(Output x, int axis, const CumsumOptions& options = {});

/// The extents of x, int64 [rank], and how many values it has, int64 [].
Output shape_of(Output x);
Output size_of(Output x);

/// begin, begin + step, ... short of end: a constant.
Output range(Graph& graph, double begin, double end, double step = 1, DType dtype = DType::int64);

}  // namespace troupe
