#include "troupe/ops/tensor.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <ostream>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

void destroy_strings(std::byte* data, std::size_t bytes) {
  auto* strings = reinterpret_cast<std::string*>(data);
  std::destroy_n(strings, bytes / sizeof(std::string));
}

BufferRef make_buffer(DType type, std::size_t bytes) {
  BufferRef buffer(Buffer::allocate(bytes));
  if (type == DType::string) {
    auto* strings = reinterpret_cast<std::string*>(buffer->data());
    std::uninitialized_value_construct_n(strings, bytes / sizeof(std::string));
    buffer->on_release(destroy_strings);
  }
  return buffer;
}

}  // namespace

Tensor::Tensor() = default;

Tensor::Tensor(DType type, const Shape& shape, BufferRef buffer, std::byte* data)
    : type_(type), shape_(shape), size_(shape.volume()), buffer_(std::move(buffer)), data_(data) {}

Tensor::Tensor(DType type, const Shape& shape) : Tensor(uninitialized(type, shape)) {
  if (type != DType::string && size_ > 0) std::memset(data_, 0, byte_size());
}

Tensor Tensor::uninitialized(DType type, const Shape& shape) {
  if (!shape.known())
    fail(Code::invalid_argument, "a tensor needs known extents, but has shape ", shape);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(shape.volume()), size_of(type), &bytes))
    fail(Code::resource_exhausted, "a tensor of shape ", shape,
         " is larger than the address space");
  auto buffer = make_buffer(type, bytes);
  auto* data = buffer->data();
  return {type, shape, std::move(buffer), data};
}

template <class T>
Tensor Tensor::of(const Shape& shape, std::span<const T> values) {
  if (static_cast<std::int64_t>(values.size()) != shape.volume())
    fail(Code::invalid_argument, "shape ", shape, " holds ", shape.volume(), " values, but ",
         values.size(), " were given");
  auto tensor = uninitialized(dtype_of<T>(), shape);
  std::ranges::copy(values, reinterpret_cast<T*>(tensor.data_));
  return tensor;
}
template Tensor Tensor::of(const Shape&, std::span<const float>);
template Tensor Tensor::of(const Shape&, std::span<const double>);
template Tensor Tensor::of(const Shape&, std::span<const std::int8_t>);
template Tensor Tensor::of(const Shape&, std::span<const std::int16_t>);
template Tensor Tensor::of(const Shape&, std::span<const std::int32_t>);
template Tensor Tensor::of(const Shape&, std::span<const std::int64_t>);
template Tensor Tensor::of(const Shape&, std::span<const std::uint8_t>);
template Tensor Tensor::of(const Shape&, std::span<const bool>);
template Tensor Tensor::of(const Shape&, std::span<const std::string>);
template Tensor Tensor::of(const Shape&, std::span<const bfloat16>);
template Tensor Tensor::of(const Shape&, std::span<const float16>);

Tensor Tensor::filled(DType type, const Shape& shape, double value) {
  auto tensor = uninitialized(type, shape);
  dispatch_numeric_or_bool(type, "filled", [&]<class T>() {
    std::ranges::fill(tensor.write<T>(), static_cast<T>(value));
  });
  return tensor;
}

void Tensor::wrong_type(DType asked) const {
  fail(Code::invalid_argument, "the tensor holds ", type_, " ", shape_, ", but ", asked,
       " was asked for");
}

double Tensor::at(std::int64_t i) const {
  if (i < 0 || i >= size_)
    fail(Code::out_of_range, "value ", i, " does not exist in a tensor of shape ", shape_);
  if (type_ == DType::bfloat16) return to_float(read<bfloat16>()[i]);
  if (type_ == DType::float16) return to_float(read<float16>()[i]);
  double value = 0;
  dispatch_numeric_or_bool(type_, "at",
                           [&]<class T>() { value = static_cast<double>(read<T>()[i]); });
  return value;
}

double Tensor::item() const {
  if (size_ != 1)
    fail(Code::invalid_argument, "item() needs a tensor of one value, but the shape is ", shape_);
  return at(0);
}

Tensor Tensor::slice(std::int64_t begin, std::int64_t end) const {
  if (shape_.rank() == 0 || begin < 0 || begin > end || end > shape_[0])
    fail(Code::out_of_range, "rows [", begin, ", ", end, ") do not exist in a tensor of shape ",
         shape_);
  auto shape = shape_;
  shape.set(0, end - begin);
  const auto row = shape_[0] == 0 ? 0 : byte_size() / static_cast<std::size_t>(shape_[0]);
  return {type_, shape, buffer_, data_ + static_cast<std::size_t>(begin) * row};
}

Tensor Tensor::row(std::int64_t i) const {
  if (shape_.rank() == 0 || i < 0 || i >= shape_[0])
    fail(Code::out_of_range, "row ", i, " does not exist in a tensor of shape ", shape_);
  Tensor view;
  view.type_ = type_;
  view.shape_ = shape_.without_first();
  view.size_ = size_ / shape_[0];
  view.buffer_ = buffer_;
  view.data_ = data_ + static_cast<std::size_t>(i) * view.byte_size();
  return view;
}

Tensor Tensor::reshape(const Shape& shape) const {
  auto target = shape;
  std::int64_t known = 1;
  int open = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != Shape::kUnknown)
      known *= shape[axis];
    else if (open < 0)
      open = axis;
    else
      fail(Code::invalid_argument, "reshape to ", shape, ": at most one extent may be -1");
  }
  if (open >= 0 && known > 0) target.set(open, size_ / known);
  if (!target.known() || target.volume() != size_)
    fail(Code::invalid_argument, "a tensor of shape ", shape_, " has ", size_,
         " values and cannot be seen as ", shape);
  return {type_, target, buffer_, data_};
}

Tensor Tensor::clone() const {
  auto copy = uninitialized(type_, shape_);
  if (type_ == DType::string)
    std::ranges::copy(read<std::string>(), reinterpret_cast<std::string*>(copy.data_));
  else if (size_ > 0)
    std::memcpy(copy.data_, data_, byte_size());
  return copy;
}

namespace {

template <class Fn>
void dispatch_with_halves(DType type, Fn&& fn) {
  if (type == DType::bfloat16) return fn.template operator()<bfloat16>();
  if (type == DType::float16) return fn.template operator()<float16>();
  dispatch_numeric_or_bool(type, "cast", fn);
}

/// Between 16-bit floats and other types by way of float, as at() gives them.
template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<From, bfloat16> || std::is_same_v<From, float16>)
    return converted<To>(to_float(value));
  else if constexpr (std::is_same_v<To, bfloat16>)
    return to_bfloat16(static_cast<float>(static_cast<double>(value)));
  else if constexpr (std::is_same_v<To, float16>)
    return to_float16(static_cast<float>(static_cast<double>(value)));
  else
    return static_cast<To>(value);
}

}  // namespace

Tensor Tensor::cast(DType type) const {
  if (type == type_) return *this;
  auto out = uninitialized(type, shape_);
  dispatch_with_halves(type, [&]<class To>() {
    auto* to = out.write<To>().data();
    dispatch_with_halves(type_, [&]<class From>() {
      const auto* from = read<From>().data();
      for (std::int64_t i = 0; i < size_; ++i) to[i] = converted<To>(from[i]);
    });
  });
  return out;
}

bool operator==(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.dtype() == DType::string)
    return std::ranges::equal(a.read<std::string>(), b.read<std::string>());
  if (!is_floating(a.dtype())) return same_bits(a, b);
  bool equal = true;
  dispatch_floating(a.dtype(),
                    "==", [&]<class T>() { equal = std::ranges::equal(a.read<T>(), b.read<T>()); });
  return equal;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.dtype() == DType::string) return a == b;
  return a.size() == 0 || std::memcmp(a.data(), b.data(), a.byte_size()) == 0;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  constexpr std::int64_t kShown = 8;
  out << tensor.dtype() << ' ' << tensor.shape() << ':';
  for (std::int64_t i = 0; i < std::min(tensor.size(), kShown); ++i) {
    out << ' ';
    if (tensor.dtype() == DType::string)
      out << tensor.read<std::string>()[i];
    else
      out << tensor.at(i);
  }
  return tensor.size() > kShown ? out << " ..." : out;
}

}  // namespace troupe
