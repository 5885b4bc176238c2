#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <vector>

namespace troupe {

/// The extents of a tensor, outermost first: {32, 10} is 32 rows of 10 columns.
/// The empty shape {} is a scalar with one value. An extent of -1 is not known
/// yet; tensors have none, the shapes in a graph may.
class Shape {
 public:
  static constexpr int kMaxRank = 8;
  static constexpr std::int64_t kUnknown = -1;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents)
      : Shape(std::span(extents.begin(), extents.size())) {}
  /// Throws invalid_argument above kMaxRank axes or for an extent below -1.
  explicit Shape(std::span<const std::int64_t> extents);
  explicit Shape(const std::vector<std::int64_t>& extents)
      : Shape(std::span<const std::int64_t>(extents)) {}

  int rank() const { return rank_; }

  /// The extent of one axis; negative axes count from the end (-1 is columns).
  /// Throws out_of_range when the axis does not exist.
  std::int64_t operator[](int axis) const { return extents_[checked(axis)]; }
  void set(int axis, std::int64_t extent) { extents_[checked(axis)] = extent; }

  std::span<const std::int64_t> extents() const {
    return {extents_.data(), static_cast<std::size_t>(rank_)};
  }
  std::vector<std::int64_t> vector() const { return {extents().begin(), extents().end()}; }

  /// Whether every extent is known.
  bool known() const;

  /// The number of values: the product of all extents, 1 for a scalar.
  /// Throws failed_precondition when an extent is not known, and
  /// invalid_argument when the product does not fit 63 bits.
  std::int64_t volume() const;

  /// An axis in [0, rank) from one in [-rank, rank). Throws out_of_range.
  int axis(int axis) const { return checked(axis); }

  /// The shape without its first axis, and with another one in front.
  Shape without_first() const;
  Shape with_first(std::int64_t extent) const;

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  int checked(int axis) const;

  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

/// Whether two shapes may be equal: the same rank, and the same extents where both are known.
bool compatible(const Shape& a, const Shape& b);

/// The shape that two operands broadcast to, by NumPy's rule: axes are matched
/// from the last; an extent of 1 stretches. Throws invalid_argument.
Shape broadcast(const Shape& a, const Shape& b);

/// Prints the form that error messages use: [32, 10], [?, 10], [].
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace troupe
