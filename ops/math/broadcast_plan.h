#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "troupe/ops/shape.h"

namespace troupe {

/// How to walk over two operands that broadcast against one another: as few
/// nested loops as their shapes allow, around rows of contiguous output.
///
/// In the innermost loop an operand is either a row too, or one value.
class BroadcastPlan {
 public:
  /// Both shapes known. Throws invalid_argument when they do not broadcast.
  BroadcastPlan(const Shape& left, const Shape& right);

  /// Values of the output, and of one row of it.
  std::int64_t size() const { return size_; }
  std::int64_t row() const { return row_; }

  bool left_is_value() const { return left_step_ == 0; }
  bool right_is_value() const { return right_step_ == 0; }

  /// Whether one operand is as large as the output, and the other one row that is
  /// used again and again: a bias.
  bool left_is_repeated_row() const {
    return outer_rank_ == 1 && outer_[0].left == 0 && left_step_ == 1 && outer_[0].right == row_;
  }
  bool right_is_repeated_row() const {
    return outer_rank_ == 1 && outer_[0].right == 0 && right_step_ == 1 && outer_[0].left == row_;
  }

  /// Calls fn(left, right, out, count) with the offsets of each piece of a row
  /// that lies in [begin, end) of the output.
  template <class Fn>
  void for_each_row(std::int64_t begin, std::int64_t end, Fn fn) const {
    while (begin < end) {
      const auto index = begin / row_;
      const auto column = begin - index * row_;
      const auto count = std::min(row_ - column, end - begin);
      std::int64_t left = column * left_step_;
      std::int64_t right = column * right_step_;
      auto rest = index;
      for (int axis = outer_rank_ - 1; axis >= 0; --axis) {
        const auto& [extent, left_stride, right_stride] = outer_[axis];
        const auto at = axis == 0 ? rest : rest % extent;
        rest /= extent;
        left += at * left_stride;
        right += at * right_stride;
      }
      fn(left, right, begin, count);
      begin += count;
    }
  }

 private:
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t left = 0;  // strides in values
    std::int64_t right = 0;
  };

  std::int64_t size_ = 1;
  std::int64_t row_ = 1;
  std::int64_t left_step_ = 1;
  std::int64_t right_step_ = 1;
  int outer_rank_ = 0;
  std::array<Axis, Shape::kMaxRank> outer_{};
};

}  // namespace troupe
