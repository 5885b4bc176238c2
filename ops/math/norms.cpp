#include <limits>

#include "troupe/ops/array.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/math/reduced_axes.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {

Output global_norm(const OutputList& values) {
  if (values.empty())
    fail(Code::invalid_argument, "global_norm needs at least one tensor, but got none");
  OutputList halves;
  for (const auto& value : values) halves.push_back(l2_loss(value));
  return sqrt(2.0 * add_n(halves));
}

OutputList clip_by_global_norm(const OutputList& values, double clip_norm, Output norm) {
  if (!(clip_norm > 0))
    fail(Code::invalid_argument, "clip_by_global_norm: clip_norm is ", clip_norm,
         ", but must be above 0");
  if (!norm) norm = global_norm(values);
  const auto scale = clip_norm / maximum(constant(norm.graph(), clip_norm, norm.dtype()), norm);
  OutputList clipped;
  for (const auto& value : values) clipped.push_back(value * scale);
  return clipped;
}

Output logsumexp(Output x, const Axes& axes, bool keep_dims) {
  // An infinite maximum would leave infinity minus infinity; the largest finite
  // number does its work too.
  const double largest = x.dtype() == DType::float32 ? std::numeric_limits<float>::max()
                                                     : std::numeric_limits<double>::max();
  const auto top = stop_gradient(clip_by_value(reduce_max(x, axes, true), -largest, largest));
  const auto sum = log(reduce_sum(exp(x - top), axes, true)) + top;
  if (keep_dims) return sum;
  std::vector<std::int64_t> gone = axes.list;
  if (axes.all)
    for (int i = 0; i < x.shape().rank(); ++i) gone.push_back(i);
  return gone.empty() ? sum : squeeze(sum, gone);
}

}  // namespace troupe
