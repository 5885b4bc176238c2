#include "troupe/ops/simd/lrn_kernels.h"

#include "troupe/ops/simd/vectors.h"

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

/// The channels of some pixels, those of each between `radius` zeros on either
/// side, so that every window has the same width.
template <class T>
class Padded {
 public:
  Padded(const LrnSizes& sizes, T* memory)
      : channels_(sizes.channels),
        radius_(sizes.radius),
        width_(sizes.channels + 2 * sizes.radius),
        memory_(memory) {
    for (std::int64_t i = 0; i < sizes.block() * width_; ++i) memory[i] = 0;
  }

  /// Sets channel c of pixel i to value(i * channels + c).
  template <class Value>
  void fill(std::int64_t pixels, Value value) {
    for (std::int64_t i = 0; i < pixels; ++i) {
      T* __restrict row = memory_ + i * width_ + radius_;
      for (std::int64_t c = 0; c < channels_; ++c) row[c] = value(i * channels_ + c);
    }
  }

  /// sums[i * channels + c] = the sum of the window around channel c of pixel i.
  void sum_windows(std::int64_t pixels, T* sums) const {
    for (std::int64_t i = 0; i < pixels; ++i) {
      const T* row = memory_ + i * width_;
      each_lane_or_twice<T>(channels_, [&](std::int64_t c, auto lanes) {
        auto sum = lanes.load(row + c);
        for (std::int64_t k = 1; k <= 2 * radius_; ++k) sum += lanes.load(row + c + k);
        lanes.store(sums + i * channels_ + c, sum);
      });
    }
  }

 private:
  std::int64_t channels_;
  std::int64_t radius_;
  std::int64_t width_;
  T* memory_;
};

/// s[c] = bias + alpha times the sum of squares around c.
template <class T>
void squares_around(const LrnSizes& sizes, std::int64_t pixels, const T* x, Padded<T>& padded,
                    T* s) {
  padded.fill(pixels, [x](std::int64_t i) { return x[i] * x[i]; });
  padded.sum_windows(pixels, s);
  const T bias = static_cast<T>(sizes.bias);
  const T alpha = static_cast<T>(sizes.alpha);
  for (std::int64_t i = 0; i < pixels * sizes.channels; ++i) s[i] = bias + alpha * s[i];
}

/// Calls fn(offset, pixels) for one block of pixels after the other.
template <class Fn>
void each_block(const LrnSizes& sizes, std::int64_t pixels, Fn fn) {
  for (std::int64_t i = 0; i < pixels; i += sizes.block())
    fn(i * sizes.channels, pixels - i < sizes.block() ? pixels - i : sizes.block());
}

}  // namespace

template <class T>
void lrn(const LrnSizes& sizes, const T* all_x, T* all_y, T* scratch, std::int64_t pixels) {
  Padded<T> padded(sizes, scratch);
  each_block(sizes, pixels, [&](std::int64_t offset, std::int64_t some) {
    const T* x = all_x + offset;
    T* __restrict y = all_y + offset;
    const auto count = some * sizes.channels;
    squares_around(sizes, some, x, padded, y);
    negative_power(y, count, sizes.beta);
    for (std::int64_t i = 0; i < count; ++i) y[i] *= x[i];
  });
}

// With s = bias + alpha sum x^2 and p = s^-beta, y = x p and
// dx[c] = dy[c] p[c] - 2 alpha beta x[c] sum over j around c of dy[j] x[j] p[j] / s[j].
template <class T>
void lrn_gradient(const LrnSizes& sizes, const T* all_x, const T* all_dy, T* all_dx, T* scratch,
                  std::int64_t pixels) {
  const T factor = static_cast<T>(2 * sizes.alpha * sizes.beta);
  const auto most = sizes.block() * sizes.channels;
  T* __restrict s = scratch;
  T* __restrict p = scratch + most;
  Padded<T> padded(sizes, scratch + 2 * most);
  each_block(sizes, pixels, [&](std::int64_t offset, std::int64_t some) {
    const T* x = all_x + offset;
    const T* dy = all_dy + offset;
    T* __restrict dx = all_dx + offset;
    const auto count = some * sizes.channels;
    squares_around(sizes, some, x, padded, s);
    for (std::int64_t i = 0; i < count; ++i) p[i] = s[i];
    negative_power(p, count, sizes.beta);
    padded.fill(some, [=](std::int64_t i) { return dy[i] * x[i] * p[i] / s[i]; });
    padded.sum_windows(some, dx);
    for (std::int64_t i = 0; i < count; ++i) dx[i] = dy[i] * p[i] - factor * x[i] * dx[i];
  });
}

template void lrn(const LrnSizes&, const float*, float*, float*, std::int64_t);
template void lrn(const LrnSizes&, const double*, double*, double*, std::int64_t);
template void lrn_gradient(const LrnSizes&, const float*, const float*, float*, float*,
                           std::int64_t);
template void lrn_gradient(const LrnSizes&, const double*, const double*, double*, double*,
                           std::int64_t);

}  // namespace troupe::simd::TROUPE_ISA
