#pragma once

#include "troupe/ops/shape.h"

namespace troupe {

/// A tensor of known shape seen as [outer, extent, inner] around one of its axes.
struct AroundAxis {
  std::int64_t outer = 1;
  std::int64_t extent = 0;
  std::int64_t inner = 1;

  AroundAxis(const Shape& x, std::int64_t given) {
    const int axis = x.axis(static_cast<int>(given));
    extent = x[axis];
    for (int i = 0; i < axis; ++i) outer *= x[i];
    for (int i = axis + 1; i < x.rank(); ++i) inner *= x[i];
  }
};

}  // namespace troupe
