#pragma once

#include <array>
#include <cstdint>

#include "troupe/ops/math/reduce_kernel.h"
#include "troupe/ops/shape.h"

namespace troupe {

/// The axes of a tensor as a reduction sees them: neighbours of one kind merged,
/// the innermost apart, and around it the axes that are kept and those that are
/// not.
class ReducePlan {
 public:
  ReducePlan(const Shape& shape, AxisSet reduced);

  std::int64_t inner() const { return inner_; }
  bool inner_is_reduced() const { return inner_is_reduced_; }

  /// The number of combinations of the kept axes, and of the reduced ones, around the inner axis.
  std::int64_t kept() const { return kept_.count; }
  std::int64_t reduced() const { return reduced_.count; }

  /// Where combination i of the kept axes starts, and of the reduced ones, in values.
  std::int64_t kept_offset(std::int64_t i) const { return kept_.offset(i); }
  std::int64_t reduced_offset(std::int64_t i) const { return reduced_.offset(i); }

  /// Calls fn(offset, count, stride) for pieces of [begin, end) of the
  /// combinations of the reduced axes that lie evenly spaced.
  template <class Fn>
  void for_each_run(std::int64_t begin, std::int64_t end, Fn fn) const {
    const auto last = reduced_.rank > 0 ? reduced_.axes[reduced_.rank - 1] : Axis{};
    while (begin < end) {
      const auto count = std::min(last.extent - begin % last.extent, end - begin);
      fn(reduced_.offset(begin), count, last.stride);
      begin += count;
    }
  }

 private:
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t stride = 0;
  };
  struct Axes {
    std::array<Axis, Shape::kMaxRank> axes{};  // outermost first
    int rank = 0;
    std::int64_t count = 1;

    void add(const Axis& axis) {
      axes[rank++] = axis;
      count *= axis.extent;
    }
    std::int64_t offset(std::int64_t i) const {
      std::int64_t sum = 0;
      for (int k = rank - 1; k >= 0; --k) {
        sum += (k == 0 ? i : i % axes[k].extent) * axes[k].stride;
        i /= axes[k].extent;
      }
      return sum;
    }
  };

  std::int64_t inner_ = 1;
  bool inner_is_reduced_ = false;
  Axes kept_;
  Axes reduced_;
};

}  // namespace troupe
