#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/ops/parallel.h"
#include "troupe/ops/shape.h"

namespace troupe {

/// One axis of two views that are walked together. Strides count values; they
/// may be negative, or 0 where the view stays on one value.
struct StridedAxis {
  std::int64_t extent;
  std::int64_t from;
  std::int64_t to;
};

/// Moves values from one view of memory to another of the same extents: what
/// transposing, joining, cutting, padding and repeating come down to. Planned
/// once: axes are ordered and merged so that the inner loop is long and walks
/// the target in order; two axes that swap places are walked in blocks.
class StridedCopy {
 public:
  /// The offsets are where the first value of each view stands, in values.
  explicit StridedCopy(std::span<const StridedAxis> axes, std::int64_t from_offset = 0,
                       std::int64_t to_offset = 0);

  /// to = from. T is any type of the value's size, or std::string.
  template <class T>
  void copy(const T* from, T* to, IntraOp& intra) const;
  /// to += from, for views whose target comes back to the same value.
  template <class T>
  void add(const T* from, T* to) const;

 private:
  static constexpr int kMaxAxes = 2 * Shape::kMaxRank;

  struct Position {
    std::int64_t from;
    std::int64_t to;
  };
  template <class T, class Row>
  void each_row(std::int64_t begin, std::int64_t end, const T* from, T* to, Row row) const;
  template <class T>
  void copy_blocked(const T* from, T* to, IntraOp& intra) const;
  Position position(std::int64_t row) const;
  std::int64_t rows() const;

  std::int64_t from_offset_;
  std::int64_t to_offset_;
  bool empty_ = false;
  std::vector<StridedAxis> outer_;  // outermost first
  StridedAxis inner_{1, 1, 1};      // the innermost axis
  StridedAxis swapped_{1, 0, 0};    // walked in blocks with inner_: contiguous in the source
};

/// The strides of a row-major tensor of known shape.
std::array<std::int64_t, Shape::kMaxRank> strides_of(const Shape& shape);

}  // namespace troupe
