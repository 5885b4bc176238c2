#include "troupe/ops/simd/channel_kernels.h"

namespace troupe::simd::TROUPE_ISA {
namespace {

float root(float x) { return __builtin_sqrtf(x); }
double root(double x) { return __builtin_sqrt(x); }
float power(float x, float e) { return __builtin_powf(x, e); }
double power(double x, double e) { return __builtin_pow(x, e); }

/// values[c] = values[c]^-beta. The exponents in use need square roots only,
/// which processors have for whole vectors.
template <class T>
void negative_power(T* values, std::int64_t count, double beta) {
  if (beta == 0.75) {
    for (std::int64_t c = 0; c < count; ++c) {
      const T s = root(values[c]);
      values[c] = 1 / (s * root(s));
    }
  } else if (beta == 0.5) {
    for (std::int64_t c = 0; c < count; ++c) values[c] = 1 / root(values[c]);
  } else if (beta == 1) {
    for (std::int64_t c = 0; c < count; ++c) values[c] = 1 / values[c];
  } else {
    for (std::int64_t c = 0; c < count; ++c) values[c] = power(values[c], static_cast<T>(-beta));
  }
}

/// Calls add(c, j, count) for the ranges [c, c + count) and [j, j + count) of
/// channels that are the same distance apart, for every distance in the window.
template <class Add>
void each_neighbour(const LrnSizes& sizes, Add add) {
  for (auto d = -sizes.radius; d <= sizes.radius; ++d) {
    const auto away = d < 0 ? -d : d;
    if (away >= sizes.channels) continue;
    add(d < 0 ? away : 0, d < 0 ? 0 : away, sizes.channels - away);
  }
}

/// s[c] = bias + alpha times the sum of squares around c.
template <class T>
void squares_around(const LrnSizes& sizes, const T* x, T* s) {
  const T bias = static_cast<T>(sizes.bias);
  const T alpha = static_cast<T>(sizes.alpha);
  for (std::int64_t c = 0; c < sizes.channels; ++c) s[c] = bias;
  each_neighbour(sizes, [&](std::int64_t c, std::int64_t j, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) s[c + i] += alpha * (x[j + i] * x[j + i]);
  });
}

}  // namespace

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

template <class T>
void lrn(const LrnSizes& sizes, const T* x, T* __restrict y, std::int64_t pixels) {
  for (; pixels > 0; --pixels, x += sizes.channels, y += sizes.channels) {
    squares_around(sizes, x, y);
    negative_power(y, sizes.channels, sizes.beta);
    for (std::int64_t c = 0; c < sizes.channels; ++c) y[c] *= x[c];
  }
}

// With s = bias + alpha sum x^2 and p = s^-beta, y = x p and
// dx[c] = dy[c] p[c] - 2 alpha beta x[c] sum over j around c of dy[j] x[j] p[j] / s[j].
template <class T>
void lrn_gradient(const LrnSizes& sizes, const T* x, const T* dy, T* __restrict dx,
                  T* __restrict scratch, std::int64_t pixels) {
  const auto channels = sizes.channels;
  const T factor = static_cast<T>(2 * sizes.alpha * sizes.beta);
  T* p = scratch;
  T* t = scratch + channels;
  for (; pixels > 0; --pixels, x += channels, dy += channels, dx += channels) {
    squares_around(sizes, x, t);
    for (std::int64_t c = 0; c < channels; ++c) p[c] = t[c];
    negative_power(p, channels, sizes.beta);
    for (std::int64_t c = 0; c < channels; ++c) t[c] = dy[c] * x[c] * p[c] / t[c];
    for (std::int64_t c = 0; c < channels; ++c) dx[c] = 0;
    each_neighbour(sizes, [&](std::int64_t c, std::int64_t j, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) dx[c + i] += t[j + i];
    });
    for (std::int64_t c = 0; c < channels; ++c) dx[c] = dy[c] * p[c] - factor * x[c] * dx[c];
  }
}

// clang-format off
#define TROUPE_INSTANTIATE(T)                                                                   \
  template void add_row(const T*, const T*, T*, std::int64_t, std::int64_t);                    \
  template void sum_rows(const T*, T*, std::int64_t, std::int64_t);                             \
  template void shifted_sums(const T*, const T*, T*, T*, std::int64_t, std::int64_t);           \
  template void gradient_sums(const T*, const T*, const T*, T*, T*, std::int64_t, std::int64_t); \
  template void normalize(const T*, const T*, const T*, const T*, T*, std::int64_t,             \
                          std::int64_t);                                                        \
  template void normalize_gradient(const T*, const T*, const T*, const T*, const T*, const T*,  \
                                   T*, std::int64_t, std::int64_t);                             \
  template void lrn(const LrnSizes&, const T*, T*, std::int64_t);                               \
  template void lrn_gradient(const LrnSizes&, const T*, const T*, T*, T*, std::int64_t);
// clang-format on
TROUPE_INSTANTIATE(float)
TROUPE_INSTANTIATE(double)

}  // namespace troupe::simd::TROUPE_ISA
