#include "troupe/ops/math/reduced_axes.h"

#include <vector>

namespace troupe {

AxisSet reduced_axes(const Attributes& attributes, const Shape& shape) {
  const int rank = shape.rank();
  AxisSet set;
  if (!attributes.has("axes")) {
    for (int i = 0; i < rank; ++i) set.set(i);
    return set;
  }
  for (const auto given : attributes.get<std::vector<std::int64_t>>("axes")) {
    if (given < -rank || given >= rank)
      fail(Code::invalid_argument, "axes lists ", given, ", but x has shape ", shape,
           ", and an axis must be in [", -rank, ", ", rank, ")");
    const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
    if (set[axis]) fail(Code::invalid_argument, "axes lists axis ", axis, " twice");
    set.set(axis);
  }
  return set;
}

Shape reduced_shape(const Shape& shape, AxisSet reduced, bool keep_dims) {
  std::vector<std::int64_t> extents;
  for (int i = 0; i < shape.rank(); ++i) {
    if (!reduced[i])
      extents.push_back(shape[i]);
    else if (keep_dims)
      extents.push_back(1);
  }
  return Shape(extents);
}

}  // namespace troupe
