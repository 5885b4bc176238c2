#include "troupe/ops/shape.h"

#include <algorithm>
#include <ostream>

#include "troupe/ops/error.h"

namespace troupe {

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > kMaxRank)
    fail(Code::invalid_argument, "a shape has at most ", kMaxRank, " axes, but ", extents.size(),
         " were given");
  for (const auto extent : extents) {
    if (extent < kUnknown)
      fail(Code::invalid_argument, "an extent is 0 or more, or -1 when it is not known, but ",
           extent, " was given");
    extents_[rank_++] = extent;
  }
}

int Shape::checked(int axis) const {
  const int index = axis < 0 ? axis + rank_ : axis;
  if (index < 0 || index >= rank_)
    fail(Code::out_of_range, "axis ", axis, " does not exist in shape ", *this);
  return index;
}

bool Shape::known() const {
  return std::ranges::none_of(extents(), [](auto extent) { return extent == kUnknown; });
}

std::int64_t Shape::volume() const {
  std::int64_t product = 1;
  for (const auto extent : extents()) {
    if (extent == kUnknown)
      fail(Code::failed_precondition, "the number of values of shape ", *this, " is not known yet");
    if (__builtin_mul_overflow(product, extent, &product))
      fail(Code::invalid_argument, "shape ", *this, " has more values than 63 bits can count");
  }
  return product;
}

Shape Shape::without_first() const {
  checked(0);
  return Shape(extents().subspan(1));
}

Shape Shape::with_first(std::int64_t extent) const {
  std::vector<std::int64_t> all{extent};
  all.insert(all.end(), extents().begin(), extents().end());
  return Shape(all);
}

bool operator==(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.extents(), b.extents());
}

bool compatible(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.extents(), b.extents(), [](auto x, auto y) {
    return x == y || x == Shape::kUnknown || y == Shape::kUnknown;
  });
}

Shape broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> extents(rank);
  for (int i = 1; i <= rank; ++i) {
    const auto x = i <= a.rank() ? a[-i] : 1;
    const auto y = i <= b.rank() ? b[-i] : 1;
    auto& out = extents[rank - i];
    if (x == y || y == 1)
      out = x;
    else if (x == 1)
      out = y;
    else if (x == Shape::kUnknown || y == Shape::kUnknown)
      out = std::max(x, y);
    else
      fail(Code::invalid_argument, "shapes ", a, " and ", b,
           " do not broadcast: counted from the last, axis ", i, " has ", x, " and ", y,
           ", and neither is 1");
  }
  return Shape(extents);
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  out << '[';
  const char* separator = "";
  for (const auto extent : shape.extents()) {
    out << separator;
    extent == Shape::kUnknown ? out << '?' : out << extent;
    separator = ", ";
  }
  return out << ']';
}

}  // namespace troupe
