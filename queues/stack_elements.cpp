#include "troupe/queues/stack_elements.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

Tensor stack_component(std::span<const Element> elements, std::size_t component) {
  const auto& first = elements[0][component];
  auto stacked = Tensor::uninitialized(
      first.dtype(), first.shape().with_first(static_cast<std::int64_t>(elements.size())));
  const auto row = static_cast<std::size_t>(first.size());
  const auto row_bytes = first.byte_size();
  auto* to = stacked.mutable_data();
  for (const auto& element : elements) {
    const auto& from = element[component];
    if (from.dtype() != first.dtype() || !(from.shape() == first.shape()))
      fail(Code::invalid_argument, "elements of one batch differ in component ", component, ": ",
           from.dtype(), ' ', from.shape(), " and ", first.dtype(), ' ', first.shape());
    if (first.dtype() == DType::string)
      std::ranges::copy(from.read<std::string>(), reinterpret_cast<std::string*>(to));
    else if (row > 0)
      std::memcpy(to, from.data(), row_bytes);
    to += row_bytes;
  }
  return stacked;
}

}  // namespace

TensorList stack_elements(std::span<const Element> elements) {
  if (elements.empty()) return {};
  check_widths(elements);
  const auto width = elements[0].size();
  TensorList components;
  components.reserve(width);
  for (std::size_t c = 0; c < width; ++c)
    components.push_back(elements.size() == 1
                             ? elements[0][c].reshape(elements[0][c].shape().with_first(1))
                             : stack_component(elements, c));
  return components;
}

void check_widths(std::span<const Element> elements) {
  for (const auto& element : elements)
    if (element.size() != elements[0].size())
      fail(Code::invalid_argument, "elements of one batch have ", element.size(), " and ",
           elements[0].size(), " components");
}

std::uint64_t byte_size(const Element& element) {
  std::uint64_t bytes = 0;
  for (const auto& component : element) {
    bytes += component.byte_size();
    if (component.dtype() != DType::string) continue;
    for (const auto& value : component.read<std::string>())
      if (value.capacity() > std::string().capacity()) bytes += value.capacity() + 1;
  }
  return bytes;
}

}  // namespace troupe
