#include "troupe/ops/array/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace troupe {
namespace {

constexpr std::int64_t kBlock = 32;  // 32 x 32 floats are 4 KiB: both sides stay in the L1 cache

double cost_of(std::int64_t values, std::size_t size) {
  return 20 + static_cast<double>(values) * static_cast<double>(size) / 8;
}

}  // namespace

StridedCopy::StridedCopy(std::span<const StridedAxis> axes, std::int64_t from_offset,
                         std::int64_t to_offset)
    : from_offset_(from_offset), to_offset_(to_offset) {
  for (const auto& axis : axes) {
    empty_ |= axis.extent == 0;
    if (axis.extent != 1) outer_.push_back(axis);
  }
  if (empty_) return;

  // A sum is walked in the order of its source, everything else in that of the target.
  const bool sums = std::ranges::any_of(outer_, [](const auto& axis) { return axis.to == 0; });
  std::ranges::stable_sort(outer_, std::greater{}, [sums](const StridedAxis& axis) {
    return std::abs(sums ? axis.from : axis.to);
  });
  for (std::size_t i = outer_.size(); i-- > 1;) {
    auto& above = outer_[i - 1];
    const auto& below = outer_[i];
    if (above.from == below.from * below.extent && above.to == below.to * below.extent) {
      above = {above.extent * below.extent, below.from, below.to};
      outer_.erase(outer_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (outer_.empty()) return;
  inner_ = outer_.back();
  outer_.pop_back();
  if (sums || inner_.from == 1) return;
  const auto contiguous = std::ranges::find(outer_, 1, &StridedAxis::from);
  if (contiguous == outer_.end()) return;
  swapped_ = *contiguous;
  outer_.erase(contiguous);
}

std::int64_t StridedCopy::rows() const {
  std::int64_t product = 1;
  for (const auto& axis : outer_) product *= axis.extent;
  return product;
}

StridedCopy::Position StridedCopy::position(std::int64_t row) const {
  Position at{from_offset_, to_offset_};
  for (std::size_t i = outer_.size(); i-- > 0;) {
    const auto index = row % outer_[i].extent;
    row /= outer_[i].extent;
    at.from += index * outer_[i].from;
    at.to += index * outer_[i].to;
  }
  return at;
}

template <class T, class Row>
void StridedCopy::each_row(std::int64_t begin, std::int64_t end, const T* from, T* to,
                           Row row) const {
  for (auto i = begin; i < end;) {
    // One division for all rows along the last outer axis.
    auto at = position(i);
    const auto step = outer_.empty() ? StridedAxis{1, 0, 0} : outer_.back();
    const auto run = std::min(end - i, step.extent - i % step.extent);
    for (std::int64_t k = 0; k < run; ++k, at.from += step.from, at.to += step.to)
      row(from + at.from, to + at.to);
    i += run;
  }
}

template <class T>
void StridedCopy::copy(const T* from, T* to, IntraOp& intra) const {
  if (empty_) return;
  if (swapped_.extent > 1) return copy_blocked(from, to, intra);
  const auto inner = inner_;
  intra.parallel_for(rows(), cost_of(inner.extent, sizeof(T)), [&](auto begin, auto end) {
    if (inner.from == 1 && inner.to == 1)
      each_row(begin, end, from, to, [&](const T* x, T* y) { std::copy_n(x, inner.extent, y); });
    else
      each_row(begin, end, from, to, [&](const T* x, T* y) {
        for (std::int64_t i = 0; i < inner.extent; ++i) y[i * inner.to] = x[i * inner.from];
      });
  });
}

template <class T>
void StridedCopy::copy_blocked(const T* from, T* to, IntraOp& intra) const {
  const auto blocks = (swapped_.extent + kBlock - 1) / kBlock;
  const auto cost = cost_of(kBlock * inner_.extent, sizeof(T));
  intra.parallel_for(rows() * blocks, cost, [&](auto begin, auto end) {
    for (auto unit = begin; unit < end; ++unit) {
      const auto at = position(unit / blocks);
      const auto first = unit % blocks * kBlock;
      const auto last = std::min(first + kBlock, swapped_.extent);
      for (std::int64_t tile = 0; tile < inner_.extent; tile += kBlock) {
        const auto tile_end = std::min(tile + kBlock, inner_.extent);
        for (auto i = first; i < last; ++i) {
          const T* x = from + at.from + i;
          T* y = to + at.to + i * swapped_.to;
          for (auto j = tile; j < tile_end; ++j) y[j * inner_.to] = x[j * inner_.from];
        }
      }
    }
  });
}

template <class T>
void StridedCopy::add(const T* from, T* to) const {
  if (empty_) return;
  const auto inner = inner_;
  for (std::int64_t k = 0; k < swapped_.extent; ++k, from += swapped_.from, to += swapped_.to)
    each_row(0, rows(), from, to, [&](const T* x, T* y) {
      for (std::int64_t i = 0; i < inner.extent; ++i) y[i * inner.to] += x[i * inner.from];
    });
}

template void StridedCopy::copy(const std::uint8_t*, std::uint8_t*, IntraOp&) const;
template void StridedCopy::copy(const std::uint16_t*, std::uint16_t*, IntraOp&) const;
template void StridedCopy::copy(const std::uint32_t*, std::uint32_t*, IntraOp&) const;
template void StridedCopy::copy(const std::uint64_t*, std::uint64_t*, IntraOp&) const;
template void StridedCopy::copy(const std::string*, std::string*, IntraOp&) const;
template void StridedCopy::add(const float*, float*) const;
template void StridedCopy::add(const double*, double*) const;

std::array<std::int64_t, Shape::kMaxRank> strides_of(const Shape& shape) {
  std::array<std::int64_t, Shape::kMaxRank> strides{};
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

}  // namespace troupe
