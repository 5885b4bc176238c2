#pragma once

#include <cstdint>

#include "troupe/ops/simd/isa.h"

namespace troupe::simd {

/// A window that slides over one image [height, width, channels].
struct PoolingSizes {
  struct Axis {
    std::int64_t input, window, stride, output, before;
  };
  Axis rows;
  Axis columns;
  std::int64_t channels;
};

/// Stands for no place of a window: no value under it has the gradient.
inline constexpr std::uint8_t kNoWinner = 255;

TROUPE_EACH_ISA(
    // The greatest value under the window; a NaN there is the result.
    template <class T> void max_pool(const PoolingSizes& sizes, const T* x, T* y);
    // dx[i] = the sum of dy of the windows whose first maximum, row by row, is x[i].
    template <class T>
    void max_pool_gradient(const PoolingSizes& sizes, const T* x, const T* y, const T* dy, T* dx);
    // The greatest value as above, and where it is: the number of its place in the
    // window, row by row, the first of equal ones. A NaN, and with `relu` what is
    // not above 0, is no winner: ReLU before the pooling stops its gradient.
    template <class T> void max_pool_winners(const PoolingSizes& sizes, bool relu, const T* x, T* y,
                                             std::uint8_t* winners);
    // dx[i] = the sum of dy of the windows that x[i] has won.
    template <class T>
    void max_pool_winners_gradient(const PoolingSizes& sizes, const std::uint8_t* winners,
                                   const T* dy, T* dx);
    // sums[c] = the sum of what is in column c of dy where somebody has won.
    template <class T> void sum_won_rows(const T* dy, const std::uint8_t* winners, T* sums,
                                         std::int64_t rows, std::int64_t columns);
    // The mean of the values under the window that lie in the image.
    template <class T> void avg_pool(const PoolingSizes& sizes, const T* x, T* y);
    template <class T> void avg_pool_gradient(const PoolingSizes& sizes, const T* dy, T* dx);)

}  // namespace troupe::simd
