#include "troupe/queues/stack_padded.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "troupe/ops/error.h"
#include "troupe/queues/stack_elements.h"

namespace troupe {
namespace {

/// The smallest shape that all elements' components fit into.
Shape common_shape(std::span<const Element> elements, std::size_t component) {
  const auto& first = elements[0][component];
  auto shape = first.shape();
  for (const auto& element : elements) {
    const auto& other = element[component];
    if (other.dtype() != first.dtype() || other.shape().rank() != shape.rank())
      fail(Code::invalid_argument, "elements of one batch differ in component ", component, ": ",
           other.dtype(), ' ', other.shape(), " and ", first.dtype(), ' ', first.shape(),
           "; padding needs the same dtype and number of axes");
    for (int axis = 0; axis < shape.rank(); ++axis)
      shape.set(axis, std::max(shape[axis], other.shape()[axis]));
  }
  return shape;
}

/// Copies a block of values into the corner of a larger one, from `axis` on inwards.
void copy_corner(const Tensor& from, const Shape& into, int axis, const std::byte*& source,
                 std::byte* target, std::size_t stride) {
  const auto extent = from.shape()[axis];
  if (axis == from.shape().rank() - 1) {
    const auto bytes = static_cast<std::size_t>(extent) * size_of(from.dtype());
    if (from.dtype() == DType::string)
      std::copy_n(reinterpret_cast<const std::string*>(source), extent,
                  reinterpret_cast<std::string*>(target));
    else if (bytes > 0)
      std::memcpy(target, source, bytes);
    source += bytes;
    return;
  }
  // `stride` is of one step along this axis in the larger block.
  const auto inner = stride / static_cast<std::size_t>(std::max<std::int64_t>(1, into[axis + 1]));
  for (std::int64_t i = 0; i < extent; ++i, target += stride)
    copy_corner(from, into, axis + 1, source, target, inner);
}

template <class T>
bool is_one_of(double value) {
  // Both are exact as doubles: powers of two, or zero.
  const auto least = static_cast<double>(std::numeric_limits<T>::min());
  const auto above = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return value >= least && value < above && value == std::trunc(value);
}

bool can_hold(DType dtype, double value) {
  switch (dtype) {
    case DType::string:  // is filled up with empty ones
    case DType::float32:
    case DType::float64:
      return true;
    case DType::int8:
      return is_one_of<std::int8_t>(value);
    case DType::int16:
      return is_one_of<std::int16_t>(value);
    case DType::int32:
      return is_one_of<std::int32_t>(value);
    case DType::int64:
      return is_one_of<std::int64_t>(value);
    case DType::uint8:
      return is_one_of<std::uint8_t>(value);
    case DType::boolean:
      return value == 0 || value == 1;
    default:
      return value == 0;
  }
}

Tensor filled(DType dtype, const Shape& shape, const ElementPadding& padding,
              std::size_t component) {
  if (padding.exact.empty()) {
    const auto value = padding.values.empty()       ? 0
                       : padding.values.size() == 1 ? padding.values[0]
                                                    : padding.values.at(component);
    return dtype == DType::string || value == 0 ? Tensor(dtype, shape)
                                                : Tensor::filled(dtype, shape, value);
  }
  const auto& value = padding.exact.at(component);
  Tensor block(dtype, shape);
  if (dtype == DType::string) {
    std::ranges::fill(block.write<std::string>(), value.read<std::string>()[0]);
  } else {
    auto* to = block.mutable_data();
    for (const auto* end = to + block.byte_size(); to < end; to += size_of(dtype))
      std::memcpy(to, value.data(), size_of(dtype));
  }
  return block;
}

}  // namespace

void check(const ElementPadding& padding, const std::vector<QueueComponent>& components) {
  const auto& [values, most_bytes, exact] = padding;
  const auto width = components.size();
  if (exact.size() != width && !exact.empty())
    fail(Code::invalid_argument, exact.size(), " exact padding values for ", width,
         " components (ElementPadding::exact has one for each of QueueOptions::components)");
  if (exact.empty() && values.size() > 1 && values.size() != width)
    fail(Code::invalid_argument, values.size(), " padding values for ", width,
         " components (ElementPadding::values has one for all, or one for each)");
  for (std::size_t c = 0; c < width; ++c) {
    const auto dtype = components[c].spec.dtype;
    const auto name = component_name(components[c], c);
    if (!exact.empty() && (exact[c].dtype() != dtype || exact[c].shape().rank() != 0))
      fail(Code::invalid_argument, "the padding of ", name, " is ", exact[c].dtype(), ' ',
           exact[c].shape(), ", but must be one value of its dtype: ", dtype, " []");
    if (!exact.empty() || values.empty()) continue;
    if (const auto value = values.size() == 1 ? values[0] : values[c]; !can_hold(dtype, value))
      fail(Code::invalid_argument, "the padding of ", name, " is ", value, ", but its dtype ",
           dtype, " does not hold that (ElementPadding::exact takes any value)");
  }
}

TensorList stack_padded(std::span<const Element> elements, const ElementPadding& padding) {
  if (elements.empty()) return {};
  const auto width = elements[0].size();
  check_widths(elements);
  const auto rows = static_cast<std::int64_t>(elements.size());
  std::vector<Shape> shapes;
  std::uint64_t bytes = 0;
  bool pad = false;
  for (std::size_t c = 0; c < width; ++c) {
    const auto& shape = shapes.emplace_back(common_shape(elements, c));
    bytes += static_cast<std::uint64_t>(shape.with_first(rows).volume()) *
             size_of(elements[0][c].dtype());
    for (const auto& element : elements) pad = pad || !(element[c].shape() == shape);
  }
  if (bytes > padding.most_bytes)
    fail(Code::resource_exhausted, "a batch of ", rows, " rows would have ", bytes,
         " bytes once padded, but ", padding.most_bytes,
         " are allowed: put elements of like sizes together (bucket_by_length), make batches "
         "smaller, leave out the largest elements, or allow more");
  if (!pad) return stack_elements(elements);

  TensorList components;
  for (std::size_t c = 0; c < width; ++c) {
    const auto& shape = shapes[c];
    const auto dtype = elements[0][c].dtype();
    auto stacked = filled(dtype, shape.with_first(rows), padding, c);
    const auto row = static_cast<std::size_t>(shape.volume()) * size_of(dtype);
    auto* target = stacked.mutable_data();
    for (const auto& element : elements) {
      const auto* source = element[c].data();
      if (element[c].size() > 0) {
        const auto view = element[c].reshape(element[c].shape().with_first(1));
        copy_corner(view, shape.with_first(1), 0, source, target, row);
      }
      target += row;
    }
    components.push_back(std::move(stacked));
  }
  return components;
}

}  // namespace troupe
