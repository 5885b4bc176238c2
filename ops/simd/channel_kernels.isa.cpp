#include "troupe/ops/simd/channel_kernels.h"

#include "troupe/ops/simd/loops.h"

namespace troupe::simd::TROUPE_ISA {
template <class T>
void add_row(const T* x, const T* bias, T* y, std::int64_t rows, std::int64_t columns) {
  for (; rows > 0; --rows, x += columns, y += columns)
    for (std::int64_t c = 0; c < columns; ++c) y[c] = x[c] + bias[c];
}

template <class T>
void sum_rows(const T* x, T* __restrict sums, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) sums[c] = 0;
  for (; rows > 0; --rows, x += columns)
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += x[c];
}

template <class T>
void relu_gradient_sums(const T* dy, const T* y, T* dx, T* __restrict sums, std::int64_t rows,
                        std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) sums[c] = 0;
  for (; rows > 0; --rows, dy += columns, y += columns, dx += columns) {
    TROUPE_INDEPENDENT  // dx may be dy or y
        for (std::int64_t c = 0; c < columns; ++c) {
      const T d = y[c] > 0 ? dy[c] : T{0};
      dx[c] = d;
      sums[c] += d;
    }
  }
}

template <class T>
void shifted_sums(const T* x, const T* shift, T* __restrict sums, T* __restrict squares,
                  std::int64_t rows, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) sums[c] = squares[c] = 0;
  for (; rows > 0; --rows, x += columns)
    for (std::int64_t c = 0; c < columns; ++c) {
      const T d = x[c] - shift[c];
      sums[c] += d;
      squares[c] += d * d;
    }
}

template <class T>
void gradient_sums(const T* x, const T* mean, const T* dy, T* __restrict sums,
                   T* __restrict products, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) sums[c] = products[c] = 0;
  for (; rows > 0; --rows, x += columns, dy += columns)
    for (std::int64_t c = 0; c < columns; ++c) {
      sums[c] += dy[c];
      products[c] += dy[c] * (x[c] - mean[c]);
    }
}

template <class T>
void normalize(const T* x, const T* mean, const T* factor, const T* offset, T* __restrict y,
               std::int64_t rows, std::int64_t columns) {
  for (; rows > 0; --rows, x += columns, y += columns)
    for (std::int64_t c = 0; c < columns; ++c) y[c] = (x[c] - mean[c]) * factor[c] + offset[c];
}

template <class T>
void normalize_gradient(const T* x, const T* mean, const T* a, const T* b, const T* factor,
                        const T* dy, T* __restrict dx, std::int64_t rows, std::int64_t columns) {
  for (; rows > 0; --rows, x += columns, dy += columns, dx += columns)
    for (std::int64_t c = 0; c < columns; ++c)
      dx[c] = (dy[c] - a[c] - (x[c] - mean[c]) * b[c]) * factor[c];
}

// clang-format off
#define TROUPE_INSTANTIATE(T)                                                                   \
  template void add_row(const T*, const T*, T*, std::int64_t, std::int64_t);                    \
  template void sum_rows(const T*, T*, std::int64_t, std::int64_t);                             \
  template void relu_gradient_sums(const T*, const T*, T*, T*, std::int64_t, std::int64_t);      \
  template void shifted_sums(const T*, const T*, T*, T*, std::int64_t, std::int64_t);           \
  template void gradient_sums(const T*, const T*, const T*, T*, T*, std::int64_t, std::int64_t); \
  template void normalize(const T*, const T*, const T*, const T*, T*, std::int64_t,             \
                          std::int64_t);                                                        \
  template void normalize_gradient(const T*, const T*, const T*, const T*, const T*, const T*,  \
                                   T*, std::int64_t, std::int64_t);
// clang-format on
TROUPE_INSTANTIATE(float)
TROUPE_INSTANTIATE(double)

}  // namespace troupe::simd::TROUPE_ISA
