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

TROUPE_EACH_ISA(
    // The greatest value under the window; a NaN there is the result.
    template <class T> void max_pool(const PoolingSizes& sizes, const T* x, T* y);
    // dx[i] = the sum of dy of the windows whose first maximum, row by row, is x[i].
    template <class T>
    void max_pool_gradient(const PoolingSizes& sizes, const T* x, const T* y, const T* dy, T* dx);
    // The mean of the values under the window that lie in the image.
    template <class T> void avg_pool(const PoolingSizes& sizes, const T* x, T* y);
    template <class T> void avg_pool_gradient(const PoolingSizes& sizes, const T* dy, T* dx);)

}  // namespace troupe::simd
