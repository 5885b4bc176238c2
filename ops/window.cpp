#include "troupe/ops/window.h"

#include <algorithm>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

Padding padding_of(const Attributes& attributes) {
  const auto& name = attributes.get<std::string>("padding");
  if (name == "SAME") return Padding::same;
  if (name == "VALID") return Padding::valid;
  fail(Code::invalid_argument, "padding is '", name, "', but must be 'SAME' or 'VALID'");
}

}  // namespace

std::string to_string(Padding padding) { return padding == Padding::same ? "SAME" : "VALID"; }

Slide slide(std::string_view axis, std::int64_t input, std::int64_t window, std::int64_t stride,
            std::int64_t dilation, Padding padding) {
  Slide s{.input = input, .window = window, .stride = stride, .dilation = dilation};
  if (window < 1) fail(Code::invalid_argument, "the window has ", axis, " ", window);
  if (input == Shape::kUnknown) {
    s.output = Shape::kUnknown;
    return s;
  }
  const auto reach = (window - 1) * dilation + 1;
  if (padding == Padding::same) {
    s.output = (input + stride - 1) / stride;
    const auto missing = std::max<std::int64_t>((s.output - 1) * stride + reach - input, 0);
    s.before = missing / 2;
    s.after = missing - s.before;
  } else {
    if (reach > input)
      fail(Code::invalid_argument, "a window that covers ", reach, " values of the ", axis,
           " does not fit into an image of ", axis, " ", input, "; use padding 'SAME'");
    s.output = (input - reach) / stride + 1;
  }
  return s;
}

std::array<std::int64_t, 2> pair_attribute(const Attributes& attributes, std::string_view name) {
  const auto& values = attributes.get<std::vector<std::int64_t>>(name);
  if (values.size() != 2 || std::ranges::any_of(values, [](auto v) { return v < 1; }))
    fail(Code::invalid_argument, name, " is ", Shape(values),
         ", but needs two positive integers: [along the height, along the width]");
  return {values[0], values[1]};
}

Slides slides(const Attributes& attributes, std::int64_t height, std::int64_t width,
              std::int64_t window_height, std::int64_t window_width) {
  const auto strides = pair_attribute(attributes, "strides");
  const auto padding = padding_of(attributes);
  std::array<std::int64_t, 2> dilations{1, 1};
  if (attributes.has("dilations")) dilations = pair_attribute(attributes, "dilations");
  return {slide("height", height, window_height, strides[0], dilations[0], padding),
          slide("width", width, window_width, strides[1], dilations[1], padding)};
}

}  // namespace troupe
