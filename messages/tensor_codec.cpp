#include "troupe/messages/tensor_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "troupe/messages/proto/tensor.pb.h"
#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

static_assert(std::endian::native == std::endian::little, "values are sent as they lie in memory");

constexpr std::int64_t kReadable = 1024;  // more numbers than that nobody reads

/// Whether a double holds every value exactly.
bool exact_as_numbers(const Tensor& tensor) {
  if (tensor.size() > kReadable) return false;
  if (tensor.dtype() != DType::int64)
    return is_numeric(tensor.dtype()) || tensor.dtype() == DType::boolean;
  constexpr auto kLargest = std::int64_t{1} << 53;
  return std::ranges::all_of(tensor.read<std::int64_t>(),
                             [](auto v) { return -kLargest <= v && v <= kLargest; });
}

template <class T>
T from_number(double number) {
  if constexpr (std::is_same_v<T, bool>) {
    if (number == 0 || number == 1) return number == 1;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number);
  } else {
    // The largest int64 is no double, but one above it is: hence "<" and the power of two.
    const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (number == std::trunc(number) && number < above &&
        number >= static_cast<double>(std::numeric_limits<T>::min()))
      return static_cast<T>(number);
  }
  fail(Code::data_loss, "the number ", number, " is not a value of ", dtype_of<T>());
}

void expect_count(const proto::Tensor& from, const Shape& shape, std::int64_t count,
                  std::string_view what) {
  if (count != shape.volume())
    fail(Code::data_loss, "a tensor ", from.dtype(), ' ', shape, " has ", shape.volume(),
         " values, but ", count, ' ', what, " are given");
}

}  // namespace

void encode_tensor(const Tensor& tensor, proto::Tensor& to, TensorForm form) {
  to.set_dtype(std::string(to_string(tensor.dtype())));
  for (const auto extent : tensor.shape().extents()) to.add_shape(extent);
  if (tensor.dtype() == DType::string)
    for (const auto& value : tensor.read<std::string>()) to.add_strings(value);
  else if (form == TensorForm::readable && exact_as_numbers(tensor))
    for (std::int64_t i = 0; i < tensor.size(); ++i) to.add_numbers(tensor.at(i));
  else
    to.set_values(reinterpret_cast<const char*>(tensor.data()), tensor.byte_size());
}

Tensor decode_tensor(const proto::Tensor& from) {
  const auto dtype = parse_dtype(from.dtype());
  const Shape shape(std::span(from.shape().data(), static_cast<std::size_t>(from.shape_size())));
  if (!shape.known()) fail(Code::data_loss, "a tensor cannot have the shape ", shape);

  if (dtype == DType::string) {
    expect_count(from, shape, from.strings_size(), "strings");
    auto tensor = Tensor(dtype, shape);
    std::ranges::copy(from.strings(), tensor.write<std::string>().begin());
    return tensor;
  }
  if (from.numbers_size() > 0) {
    expect_count(from, shape, from.numbers_size(), "numbers");
    auto tensor = Tensor::uninitialized(dtype, shape);
    dispatch_numeric_or_bool(dtype, "numbers", [&]<class T>() {
      std::ranges::transform(from.numbers(), tensor.write<T>().begin(), from_number<T>);
    });
    return tensor;
  }
  const auto& bytes = from.values();
  if (bytes.size() % size_of(dtype) != 0)
    fail(Code::data_loss, "a tensor of ", dtype, " cannot have ", bytes.size(), " bytes");
  expect_count(from, shape, static_cast<std::int64_t>(bytes.size() / size_of(dtype)), "values");
  if (dtype == DType::boolean &&
      std::ranges::any_of(bytes, [](char b) { return b != 0 && b != 1; }))
    fail(Code::data_loss, "a tensor of bool has a byte that is neither 0 nor 1");
  auto tensor = Tensor::uninitialized(dtype, shape);
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace troupe
