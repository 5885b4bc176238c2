#include "troupe/ops/simd/small_conv.h"

namespace troupe::simd {
namespace {

bool in_range(std::int64_t value, std::int64_t low, std::int64_t high) {
  return low <= value && value <= high;
}

}  // namespace

std::int64_t SmallConvShape::pooled_height() const { return (height - kernel_height + 1) / 2; }

std::int64_t SmallConvShape::pooled_width() const {
  return ((width - kernel_width) / stride_width + 1) / 2;
}

bool small_conv_supported(const SmallConvShape& shape) {
  constexpr auto kMost = SmallConvShape::kMaxPixels;
  return in_range(shape.channels, 1, SmallConvShape::kMaxChannels) &&
         in_range(shape.height, 1, kMost) && in_range(shape.width, 1, kMost) &&
         shape.height * shape.width <= kMost && in_range(shape.kernel_height, 1, shape.height) &&
         in_range(shape.kernel_width, 1, shape.width) && in_range(shape.stride_width, 1, kMost) &&
         shape.pooled_height() >= 1 && shape.pooled_width() >= 1;
}

std::size_t small_conv_scratch(const SmallConvShape& shape) {
  return TROUPE_PICK(small_conv_scratch)(shape);
}

void small_conv_forward(const SmallConvShape& shape, std::int64_t n, const float* images,
                        const float* weights, const float* bias, float* pooled,
                        std::uint8_t* winners, std::byte* scratch) {
  TROUPE_PICK(small_conv_forward)(shape, n, images, weights, bias, pooled, winners, scratch);
}

void small_conv_backward(const SmallConvShape& shape, std::int64_t n, const float* images,
                         const float* pooled_gradient, const std::uint8_t* winners,
                         float* weights_gradient, float* bias_gradient, std::byte* scratch) {
  TROUPE_PICK(small_conv_backward)
  (shape, n, images, pooled_gradient, winners, weights_gradient, bias_gradient, scratch);
}

}  // namespace troupe::simd
