#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/simd/isa.h"

namespace troupe::simd {

/// The first layer of a small convolutional network in one pass: images with one
/// channel, a convolution to a few channels without padding, a bias, a ReLU and
/// the maximum of every 2x2 places (the last row and column stay out where their
/// number is odd).
///
///   images   [n, height, width, 1]
///   weights  [kernel_height, kernel_width, 1, channels]
///   pooled   [n, pooled_height, pooled_width, channels]
///   winners  as pooled, bytes: which of the four places had the maximum (0 and 1
///            in the upper row, 2 and 3 in the lower; the first of equal ones),
///            or kCut where the ReLU made it zero
///
/// All float32, innermost axis last, packed. A NaN stays a NaN and wins. The
/// images of a range can be computed by several threads, each with a part of the
/// range and a scratch of its own.
struct SmallConvShape {
  std::int64_t height = 0, width = 0;
  std::int64_t kernel_height = 0, kernel_width = 0;
  std::int64_t stride_width = 1;  ///< the stride along the height is 1
  std::int64_t channels = 0;

  std::int64_t pooled_height() const;
  std::int64_t pooled_width() const;

  static constexpr std::int64_t kMaxChannels = 6;
  static constexpr std::int64_t kMaxPixels = 32768;  ///< sixteen images fit an L2 cache of 2 MiB
};

inline constexpr std::uint8_t kCut = 4;

/// Whether the functions below can do it: 1 to kMaxChannels channels, images of at
/// most kMaxPixels, a kernel and a stride that leave two places in each direction.
bool small_conv_supported(const SmallConvShape& shape);

/// Bytes that either function needs as scratch. Aligned to 64 is fastest.
std::size_t small_conv_scratch(const SmallConvShape& shape);

/// Writes pooled and winners of `n` images. What an image gives does not depend
/// on its place in the range.
void small_conv_forward(const SmallConvShape& shape, std::int64_t n, const float* images,
                        const float* weights, const float* bias, float* pooled,
                        std::uint8_t* winners, std::byte* scratch);

/// Writes the gradients of the weights and of the bias, summed over `n` images,
/// given that of `pooled`. Only places that won count, so most of the work of a
/// convolution's gradient is left out.
void small_conv_backward(const SmallConvShape& shape, std::int64_t n, const float* images,
                         const float* pooled_gradient, const std::uint8_t* winners,
                         float* weights_gradient, float* bias_gradient, std::byte* scratch);

TROUPE_EACH_ISA(std::size_t small_conv_scratch(const SmallConvShape& shape);
                void small_conv_forward(const SmallConvShape& shape, std::int64_t n,
                                        const float* images, const float* weights,
                                        const float* bias, float* pooled, std::uint8_t* winners,
                                        std::byte* scratch);
                void small_conv_backward(const SmallConvShape& shape, std::int64_t n,
                                         const float* images, const float* pooled_gradient,
                                         const std::uint8_t* winners, float* weights_gradient,
                                         float* bias_gradient, std::byte* scratch);)

}  // namespace troupe::simd
