#pragma once

#include <array>
#include <string>
#include <string_view>

#include "troupe/ops/attributes.h"

namespace troupe {

/// Whether a window may reach beyond the edge of the image: TensorFlow's "VALID"
/// (never) and "SAME" (as far as it takes to have an output for every stride).
enum class Padding { valid, same };
std::string to_string(Padding padding);

/// How a window slides along one axis of an image. Extents of the image may be
/// unknown (-1), then those of the output are too.
struct Slide {
  std::int64_t input = 0;
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t output = 0;
  std::int64_t before = 0;  ///< padding in front of the first value
  std::int64_t after = 0;   ///< and behind the last one
};

/// TensorFlow's rules. VALID: output = ceil((input - reach + 1) / stride), with
/// reach = (window - 1) * dilation + 1. SAME: output = ceil(input / stride), and
/// what is missing is padded half in front and half behind, the odd one behind.
/// Throws invalid_argument, in terms of `axis` ("height"), for sizes below 1 and
/// for a window that does not fit into the image.
Slide slide(std::string_view axis, std::int64_t input, std::int64_t window, std::int64_t stride,
            std::int64_t dilation, Padding padding);

/// Along both axes of an image, from the attributes strides, padding and, where
/// an op has it, dilations.
struct Slides {
  Slide rows;
  Slide columns;
};
Slides slides(const Attributes& attributes, std::int64_t height, std::int64_t width,
              std::int64_t window_height, std::int64_t window_width);

/// An attribute of two positive integers, [along the height, along the width].
std::array<std::int64_t, 2> pair_attribute(const Attributes& attributes, std::string_view name);

}  // namespace troupe
