#include "troupe/ops/simd/pooling_kernels.h"

#include "troupe/ops/simd/vectors.h"

namespace troupe::simd::TROUPE_ISA {
namespace {

/// The part of an image that lies under a window.
struct Window {
  std::int64_t top, bottom, left, right;
  std::int64_t width;  // of the image

  std::int64_t first() const { return top * width + left; }
  std::int64_t pixels() const { return (bottom - top) * (right - left); }

  /// Calls step(i) for each pixel, row by row. The usual widths are constants,
  /// so that the inner loop disappears.
  template <class Step>
  void each(Step step) const {
    switch (right - left) {
      case 2:
        return each_of<2>(step);
      case 3:
        return each_of<3>(step);
      default:
        return each_of<0>(step);
    }
  }

 private:
  template <int kWidth, class Step>
  void each_of(Step step) const {
    const std::int64_t columns = kWidth > 0 ? kWidth : right - left;
    for (auto row = top; row < bottom; ++row)
      for (std::int64_t column = 0; column < columns; ++column) step(row * width + left + column);
  }
};

/// Calls fn(window, o) for each output pixel o.
template <class Fn>
void each_window(const PoolingSizes& sizes, Fn fn) {
  const auto first = [](const PoolingSizes::Axis& a, std::int64_t o) {
    const auto begin = o * a.stride - a.before;
    return begin < 0 ? 0 : begin;
  };
  const auto last = [](const PoolingSizes::Axis& a, std::int64_t o) {
    const auto end = o * a.stride - a.before + a.window;
    return end < a.input ? end : a.input;
  };
  for (std::int64_t i = 0; i < sizes.rows.output; ++i)
    for (std::int64_t j = 0; j < sizes.columns.output; ++j) {
      const Window window{first(sizes.rows, i), last(sizes.rows, i), first(sizes.columns, j),
                          last(sizes.columns, j), sizes.columns.input};
      fn(window, i * sizes.columns.output + j);
    }
}

template <class T>
void zero(T* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = 0;
}

std::int64_t input_size(const PoolingSizes& sizes) {
  return sizes.rows.input * sizes.columns.input * sizes.channels;
}

}  // namespace

template <class T>
void max_pool(const PoolingSizes& sizes, const T* x, T* y) {
  const auto channels = sizes.channels;
  each_window(sizes, [&](const Window& window, std::int64_t o) {
    each_lane_or_twice<T>(channels, [&](std::int64_t c, auto lanes) {
      auto best = lanes.load(x + window.first() * channels + c);
      auto last_nan = best;  // or a number
      window.each([&](std::int64_t i) {
        const auto v = lanes.load(x + i * channels + c);
        best = v > best ? v : best;
        last_nan = v != v ? v : last_nan;
      });
      best = last_nan != last_nan ? last_nan : best;
      lanes.store(y + o * channels + c, best);
    });
  });
}

template <class T>
void max_pool_gradient(const PoolingSizes& sizes, const T* x, const T* y, const T* dy, T* dx) {
  const auto channels = sizes.channels;
  zero(dx, input_size(sizes));
  each_window(sizes, [&](const Window& window, std::int64_t o) {
    each_lane<T>(channels, [&](std::int64_t c, auto lanes) {
      const auto best = lanes.load(y + o * channels + c);
      auto left = lanes.load(dy + o * channels + c);  // what no value has taken yet
      const auto none = lanes.zero();
      window.each([&](std::int64_t i) {
        auto* out = dx + i * channels + c;
        const auto taken = lanes.load(x + i * channels + c) == best;
        lanes.store(out, lanes.load(out) + (taken ? left : none));
        left = taken ? none : left;
      });
    });
  });
}

template <class T>
void avg_pool(const PoolingSizes& sizes, const T* x, T* y) {
  const auto channels = sizes.channels;
  each_window(sizes, [&](const Window& window, std::int64_t o) {
    const T scale = T{1} / static_cast<T>(window.pixels());
    each_lane_or_twice<T>(channels, [&](std::int64_t c, auto lanes) {
      auto sum = lanes.zero();
      window.each([&](std::int64_t i) { sum += lanes.load(x + i * channels + c); });
      lanes.store(y + o * channels + c, sum * scale);
    });
  });
}

template <class T>
void avg_pool_gradient(const PoolingSizes& sizes, const T* dy, T* dx) {
  const auto channels = sizes.channels;
  zero(dx, input_size(sizes));
  each_window(sizes, [&](const Window& window, std::int64_t o) {
    const T scale = T{1} / static_cast<T>(window.pixels());
    each_lane<T>(channels, [&](std::int64_t c, auto lanes) {
      const auto share = lanes.load(dy + o * channels + c) * scale;
      window.each([&](std::int64_t i) {
        auto* out = dx + i * channels + c;
        lanes.store(out, lanes.load(out) + share);
      });
    });
  });
}

template void max_pool(const PoolingSizes&, const float*, float*);
template void max_pool(const PoolingSizes&, const double*, double*);
template void max_pool_gradient(const PoolingSizes&, const float*, const float*, const float*,
                                float*);
template void max_pool_gradient(const PoolingSizes&, const double*, const double*, const double*,
                                double*);
template void avg_pool(const PoolingSizes&, const float*, float*);
template void avg_pool(const PoolingSizes&, const double*, double*);
template void avg_pool_gradient(const PoolingSizes&, const float*, float*);
template void avg_pool_gradient(const PoolingSizes&, const double*, double*);

}  // namespace troupe::simd::TROUPE_ISA
