#include "troupe/ops/math/broadcast_gradient.h"

#include "troupe/ops/reductions.h"

namespace troupe {
namespace {

std::int64_t extent_from_last(const Shape& shape, int i) {
  return i <= shape.rank() ? shape[-i] : 1;
}

/// Whether x broadcast with `other` has the shape of x, whatever the unknown extents are.
bool covers(const Shape& x, const Shape& other) {
  if (x.rank() < other.rank()) return false;
  for (int i = 1; i <= x.rank(); ++i) {
    const bool other_is_one = extent_from_last(other, i) == 1;
    const bool x_is_wide = x[-i] != 1 && x[-i] != Shape::kUnknown;
    if (!other_is_one && !x_is_wide) return false;
  }
  return true;
}

}  // namespace

Output unbroadcast(const Backward& backward, Output gradient, int i) {
  const auto x = backward.x(i);
  const auto other = backward.x(1 - i);
  return x == other || covers(x.shape(), other.shape()) ? gradient : sum_to_like(gradient, x);
}

}  // namespace troupe
