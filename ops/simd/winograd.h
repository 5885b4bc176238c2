#pragma once

#include <cstdint>

#include "troupe/ops/simd/isa.h"

namespace troupe::simd {

/// A convolution with a square window of 3 or 5 and a stride of 1 by Winograd's
/// minimal filtering (Lavin and Gray 2016): the image is cut into overlapping tiles
/// of 6 x 6 values, tiles and filter are evaluated at 36 points, and there the
/// convolution is one product of matrices for each point. A window of 5 takes 2.8
/// times fewer multiplications so, one of 3 four times fewer.
///
///   images   [n, rows.input, columns.input, in]
///   filter   [window, window, in, out]
///   outputs  [n, rows.output, columns.output, out]
///   points   [36][in][out], a filter as the products want it
///
/// All float32, packed. The points are 0, +-sqrt(1/2), +-sqrt(2) and infinity, with
/// which rounding is about as large as that of a convolution that adds up directly.
/// An infinity or NaN in an image may show in all outputs of its tile.
struct WinogradSizes {
  static constexpr std::int64_t kTile = 6;
  static constexpr std::int64_t kPoints = kTile * kTile;
  static constexpr std::int64_t kChannels = 16;  ///< in and out are multiples of it

  struct Axis {
    std::int64_t input, output;
    std::int64_t before;  ///< zeros in front of the first value
  };
  Axis rows;
  Axis columns;
  std::int64_t window;
  std::int64_t in, out;  ///< channels

  /// Outputs of a tile, in each direction.
  std::int64_t step() const { return kTile + 1 - window; }
  std::int64_t tiles_down() const { return (rows.output + step() - 1) / step(); }
  std::int64_t tiles_across() const { return (columns.output + step() - 1) / step(); }
  std::int64_t tiles() const { return tiles_down() * tiles_across(); }  ///< of an image

  /// Tiles that are worked on together: what is known of them stays in the cache.
  std::int64_t block() const;
  std::int64_t points_size() const { return kPoints * in * out; }
  /// What each thread needs beside its operands, in values.
  std::int64_t scratch() const;
};

TROUPE_EACH_ISA(
    // The points of a filter, for input channels [first, last).
    void winograd_filter(const WinogradSizes& sizes, const float* filter, float* points,
                         std::int64_t first, std::int64_t last);
    // The outputs of tiles [first, last), counted through all images. A bias is one
    // value for each output channel, or nullptr.
    void winograd_convolve(const WinogradSizes& sizes, const float* images, const float* points,
                           const float* bias, bool relu, float* outputs, std::int64_t first,
                           std::int64_t last, float* scratch);
    // Adds to `points` what tiles [first, last) give to the gradient of a filter.
    void winograd_gradient_points(const WinogradSizes& sizes, const float* images,
                                  const float* gradients, float* points, std::int64_t first,
                                  std::int64_t last, float* scratch);
    // That gradient, for input channels [first, last).
    void winograd_filter_gradient(const WinogradSizes& sizes, const float* points, float* filter,
                                  std::int64_t first, std::int64_t last);)

}  // namespace troupe::simd
