#pragma once

#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/dtype.h"
#include "troupe/ops/memory.h"
#include "troupe/ops/shape.h"

namespace troupe {

/// A dense, row-major block of values, 64-byte aligned where it owns its buffer.
///
/// Copying a tensor shares its values; a tensor that was sent in a message is
/// therefore never written again by its sender: write() takes the values if
/// nobody else holds them and clones them first if somebody does.
/// Slices of the first axis and reshapes are views: they share too.
class Tensor {
 public:
  /// float32 [0].
  Tensor();
  /// Zeros (empty strings). Throws invalid_argument for an unknown extent.
  Tensor(DType type, const Shape& shape);
  /// Undefined values: for a kernel that fills all of them.
  static Tensor uninitialized(DType type, const Shape& shape);

  /// tensor<float>({2, 2}, {1, 2, 3, 4}). Throws invalid_argument when the count does not fit.
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values);
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> values) {
    return of<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor of(const Shape& shape, const std::vector<T>& values) {
    return of<T>(shape, std::span<const T>(values));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, {value});
  }
  /// Every value the same; integers and bool get the value rounded towards zero.
  static Tensor filled(DType type, const Shape& shape, double value);

  DType dtype() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return size_; }
  std::size_t byte_size() const { return static_cast<std::size_t>(size_) * size_of(type_); }

  /// The values. Throws invalid_argument when T is not the tensor's dtype.
  template <class T>
  std::span<const T> read() const {
    expect(dtype_of<T>());
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(size_)};
  }
  /// Writable values; clones them first when another tensor shares them.
  template <class T>
  std::span<T> write() {
    expect(dtype_of<T>());
    make_unique();
    return {reinterpret_cast<T*>(data_), static_cast<std::size_t>(size_)};
  }
  /// The one value of a tensor of any numeric dtype and one element.
  double item() const;
  /// Value i of any numeric dtype, as a double.
  double at(std::int64_t i) const;

  const std::byte* data() const { return data_; }
  std::byte* mutable_data() {
    make_unique();
    return data_;
  }

  /// Rows [begin, end) of the first axis, shared. Throws out_of_range.
  Tensor slice(std::int64_t begin, std::int64_t end) const;
  /// Row i of the first axis without that axis, shared: [3, 4] gives [4].
  /// Throws out_of_range.
  Tensor row(std::int64_t i) const;
  /// The same values in another shape, shared; one extent may be -1 and is then
  /// computed. Throws invalid_argument when the volumes differ.
  Tensor reshape(const Shape& shape) const;
  /// Values of their own, in a block of their own.
  Tensor clone() const;
  /// Converted to another numeric dtype (the tensor itself when it has it already).
  Tensor cast(DType type) const;

  /// Whether this tensor is the only holder of its values.
  bool unique() const { return !buffer_ || buffer_->unique(); }

 private:
  Tensor(DType type, const Shape& shape, BufferRef buffer, std::byte* data);
  void expect(DType type) const {
    if (type != type_) wrong_type(type);
  }
  [[noreturn]] void wrong_type(DType asked) const;
  void make_unique() {
    if (buffer_ && !buffer_->unique()) *this = clone();
  }

  DType type_ = DType::float32;
  Shape shape_{0};
  std::int64_t size_ = 0;
  BufferRef buffer_;
  std::byte* data_ = nullptr;
};

using TensorList = std::vector<Tensor>;

/// Equal dtype, shape and values (NaN equals nothing; compare bits with same_bits).
bool operator==(const Tensor& a, const Tensor& b);
bool same_bits(const Tensor& a, const Tensor& b);

/// float32 [2, 2]: 1 2 3 4 (the first few values).
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace troupe
