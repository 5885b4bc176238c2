#pragma once

#include "troupe/ops/math/reduce_kernel.h"
#include "troupe/ops/op.h"

namespace troupe {

/// The axes of `shape` that the attribute `axes` lists; all when a node has no
/// such attribute. Throws invalid_argument for an axis that does not exist or
/// stands there twice.
AxisSet reduced_axes(const Attributes& attributes, const Shape& shape);

/// The shape after reducing. With keep_dims the axes stay, with extent 1.
Shape reduced_shape(const Shape& shape, AxisSet reduced, bool keep_dims);

}  // namespace troupe
