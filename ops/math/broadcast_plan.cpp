#include "troupe/ops/math/broadcast_plan.h"

namespace troupe {
namespace {

std::int64_t extent_from_last(const Shape& shape, int i) {
  return i <= shape.rank() ? shape[-i] : 1;
}

}  // namespace

BroadcastPlan::BroadcastPlan(const Shape& left, const Shape& right) {
  const auto out = broadcast(left, right);
  size_ = out.volume();

  // From the last axis outwards; an axis along which both operands go on where
  // the one inside of it ends is merged into that one.
  std::array<Axis, Shape::kMaxRank> axes{};  // innermost first
  int count = 0;
  std::int64_t left_stride = 1, right_stride = 1;
  for (int i = 1; i <= out.rank(); ++i) {
    const auto left_extent = extent_from_last(left, i);
    const auto right_extent = extent_from_last(right, i);
    if (out[-i] != 1) {
      const Axis axis{out[-i], left_extent == 1 ? 0 : left_stride,
                      right_extent == 1 ? 0 : right_stride};
      auto& inside = axes[std::max(0, count - 1)];
      if (count > 0 && axis.left == inside.left * inside.extent &&
          axis.right == inside.right * inside.extent)
        inside.extent *= axis.extent;
      else
        axes[count++] = axis;
    }
    left_stride *= left_extent;
    right_stride *= right_extent;
  }

  if (count > 0) {
    row_ = axes[0].extent;
    left_step_ = axes[0].left;
    right_step_ = axes[0].right;
    outer_rank_ = count - 1;
    std::reverse_copy(axes.begin() + 1, axes.begin() + count, outer_.begin());
  }
  row_ = std::max<std::int64_t>(row_, 1);
}

}  // namespace troupe
