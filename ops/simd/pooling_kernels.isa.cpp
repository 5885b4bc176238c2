#include "troupe/ops/simd/pooling_kernels.h"

#include <immintrin.h>

#include "troupe/ops/simd/vectors.h"

namespace troupe::simd::TROUPE_ISA {
namespace {

/// The part of an image that lies under a window.
struct Window {
  std::int64_t top, bottom, left, right;
  std::int64_t width;        // of the image
  std::int64_t first_place;  // the number of the place at top and left
  std::int64_t places;       // in a row of the whole window

  std::int64_t first() const { return top * width + left; }
  std::int64_t pixels() const { return (bottom - top) * (right - left); }

  /// Calls step(i, place) for each pixel, row by row. The usual widths are
  /// constants, so that the inner loop disappears.
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
    auto place = first_place;
    for (auto row = top; row < bottom; ++row, place += places)
      for (std::int64_t column = 0; column < columns; ++column)
        step(row * width + left + column, place + column);
  }
};

/// Calls fn(window, o) for each output pixel o.
template <class Fn>
void each_window(const PoolingSizes& sizes, Fn fn) {
  const auto whole = [](const PoolingSizes::Axis& a, std::int64_t o) {
    return o * a.stride - a.before;
  };
  const auto first = [&](const PoolingSizes::Axis& a, std::int64_t o) {
    return whole(a, o) < 0 ? 0 : whole(a, o);
  };
  const auto last = [&](const PoolingSizes::Axis& a, std::int64_t o) {
    const auto end = whole(a, o) + a.window;
    return end < a.input ? end : a.input;
  };
  for (std::int64_t i = 0; i < sizes.rows.output; ++i)
    for (std::int64_t j = 0; j < sizes.columns.output; ++j) {
      const auto top = first(sizes.rows, i);
      const auto left = first(sizes.columns, j);
      const auto place =
          (top - whole(sizes.rows, i)) * sizes.columns.window + left - whole(sizes.columns, j);
      const Window window{
          top,   last(sizes.rows, i), left, last(sizes.columns, j), sizes.columns.input,
          place, sizes.columns.window};
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

/// Integers beside the values of some lanes: as wide as they, and as bytes. g++ 12
/// converts between the two one by one, where there are instructions for whole registers.
template <class V>
struct Beside {
  using Values = decltype(V{} < V{});
  static constexpr int kLanes = sizeof(V) / sizeof(V{}[0]);
  using Bytes = typename VectorOf<std::uint8_t, kLanes>::type;

  static Values load(const std::uint8_t* from) {
    const auto bytes = Lanes<Bytes>::load(from);
#ifdef __AVX512F__
    if constexpr (kLanes == 16) return Values(_mm512_cvtepu8_epi32(__m128i(bytes)));
#endif
#ifdef __AVX2__
    if constexpr (kLanes == 8 && sizeof(V) == 32)
      return Values(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#endif
    if constexpr (kLanes == 4 && sizeof(V) == 16)
      return Values(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(__builtin_bit_cast(int, bytes))));
    else
      return __builtin_convertvector(bytes, Values);
  }
  static void store(std::uint8_t* to, Values values) {
#ifdef __AVX512F__
    if constexpr (kLanes == 16)
      return _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                              _mm512_cvtepi32_epi8(__m512i(values)));
#endif
#ifdef __AVX2__
    if constexpr (kLanes == 8 && sizeof(V) == 32) {
      const auto words = _mm_packus_epi32(_mm256_castsi256_si128(__m256i(values)),
                                          _mm256_extracti128_si256(__m256i(values), 1));
      return _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
    }
#endif
    if constexpr (kLanes == 4 && sizeof(V) == 16) {
      const auto words = _mm_packus_epi32(__m128i(values), __m128i(values));
      Lanes<int>::store(to, _mm_cvtsi128_si32(_mm_packus_epi16(words, words)));
    } else {
      Lanes<Bytes>::store(to, __builtin_convertvector(values, Bytes));
    }
  }
};
template <class T>
struct BesideOne {
  using Values = int;
  static int load(const std::uint8_t* from) { return *from; }
  static void store(std::uint8_t* to, int value) { *to = static_cast<std::uint8_t>(value); }
};
template <>
struct Beside<float> : BesideOne<float> {};
template <>
struct Beside<double> : BesideOne<double> {};

/// The gradient of windows that do not overlap.
template <class T>
void scatter(const PoolingSizes& sizes, const std::uint8_t* winners, const T* dy, T* dx) {
  const auto channels = sizes.channels;
  const auto covered = [](const PoolingSizes::Axis& a) {
    return a.window == a.stride && a.output * a.stride - a.before >= a.input;
  };
  if (!covered(sizes.rows) || !covered(sizes.columns)) zero(dx, input_size(sizes));
  each_window(sizes, [&](const Window& window, std::int64_t o) {
    each_lane_or_twice<T>(channels, [&](std::int64_t c, auto lanes) {
      const auto gradient = lanes.load(dy + o * channels + c);
      const auto winner = Beside<decltype(lanes.zero())>::load(winners + o * channels + c);
      const auto none = lanes.zero();
      window.each([&](std::int64_t i, std::int64_t place) {
        lanes.store(dx + i * channels + c, winner == static_cast<int>(place) ? gradient : none);
      });
    });
  });
}

/// The windows that lie over one value of an axis, value by value.
class Over {
 public:
  explicit Over(const PoolingSizes::Axis& axis) : axis_(axis), place_(axis.before) { settle(); }

  void next() {
    ++place_;
    settle();
  }
  std::int64_t first() const { return first_; }
  std::int64_t last() const { return begun_ < axis_.output ? begun_ : axis_.output; }
  /// Of the value in a window.
  std::int64_t place(std::int64_t window) const {
    return place_ - (window - first_) * axis_.stride;
  }

 private:
  void settle() {
    while (place_ >= (begun_ - first_) * axis_.stride) ++begun_;
    while (place_ >= axis_.window) {
      place_ -= axis_.stride;
      ++first_;
    }
  }

  PoolingSizes::Axis axis_;
  std::int64_t first_ = 0;
  std::int64_t begun_ = 0;  // one past the last window that begins at the value or before it
  std::int64_t place_;      // in window first_
};

/// One of the windows over a pixel: where its values are, and which of its places the pixel has.
struct Cover {
  std::int64_t at;
  int place;
};
constexpr int kMostCovers = 4;

/// The gradient of one pixel from some windows; with kAdd added to what is there.
template <bool kAdd, int kCovers, class T>
void gather_some(const Cover* covers, std::int64_t channels, const std::uint8_t* winners,
                 const T* dy, T* dx) {
  each_lane<T>(channels, [&](std::int64_t c, auto lanes) {
    auto sum = kAdd ? lanes.load(dx + c) : lanes.zero();
    const auto none = lanes.zero();
    for (int i = 0; i < kCovers; ++i) {
      const auto at = covers[i].at + c;
      const auto won = Beside<decltype(sum)>::load(winners + at) == covers[i].place;
      sum += won ? lanes.load(dy + at) : none;
    }
    lanes.store(dx + c, sum);
  });
}

template <bool kAdd, class T>
void gather(const Cover* covers, int count, std::int64_t channels, const std::uint8_t* winners,
            const T* dy, T* dx) {
  switch (count) {
    case 0:
      return gather_some<kAdd, 0>(covers, channels, winners, dy, dx);
    case 1:
      return gather_some<kAdd, 1>(covers, channels, winners, dy, dx);
    case 2:
      return gather_some<kAdd, 2>(covers, channels, winners, dy, dx);
    case 3:
      return gather_some<kAdd, 3>(covers, channels, winners, dy, dx);
    default:
      return gather_some<kAdd, 4>(covers, channels, winners, dy, dx);
  }
}

}  // namespace

template <class T>
void max_pool(const PoolingSizes& sizes, const T* x, T* y) {
  const auto channels = sizes.channels;
  each_window(sizes, [&](const Window& window, std::int64_t o) {
    each_lane_or_twice<T>(channels, [&](std::int64_t c, auto lanes) {
      auto best = lanes.load(x + window.first() * channels + c);
      auto last_nan = best;  // or a number
      window.each([&](std::int64_t i, std::int64_t) {
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
      window.each([&](std::int64_t i, std::int64_t) {
        auto* out = dx + i * channels + c;
        const auto taken = lanes.load(x + i * channels + c) == best;
        lanes.store(out, lanes.load(out) + (taken ? left : none));
        left = taken ? none : left;
      });
    });
  });
}

template <class T>
void max_pool_winners(const PoolingSizes& sizes, bool relu, const T* x, T* y,
                      std::uint8_t* winners) {
  const auto channels = sizes.channels;
  each_window(sizes, [&](const Window& window, std::int64_t o) {
    each_lane_or_twice<T>(channels, [&](std::int64_t c, auto lanes) {
      auto best = lanes.load(x + window.first() * channels + c);
      using Places = Beside<decltype(best)>;
      auto last_nan = best;  // or a number
      auto winner = typename Places::Values{} + static_cast<int>(window.first_place);
      window.each([&](std::int64_t i, std::int64_t place) {
        const auto v = lanes.load(x + i * channels + c);
        const auto wins = v > best;
        best = wins ? v : best;
        winner = wins ? typename Places::Values{} + static_cast<int>(place) : winner;
        last_nan = v != v ? v : last_nan;
      });
      const auto nan = last_nan != last_nan;
      best = nan ? last_nan : best;
      const auto none = typename Places::Values{} + kNoWinner;
      winner = (relu ? best > lanes.zero() : best == best) ? winner : none;
      lanes.store(y + o * channels + c, best);
      Places::store(winners + o * channels + c, winner);
    });
  });
}

template <class T>
void max_pool_winners_gradient(const PoolingSizes& sizes, const std::uint8_t* winners, const T* dy,
                               T* dx) {
  const auto channels = sizes.channels;
  const auto overlap = [](const PoolingSizes::Axis& a) { return a.window > a.stride; };
  if (!overlap(sizes.rows) && !overlap(sizes.columns)) return scatter(sizes, winners, dy, dx);
  Over rows(sizes.rows);
  for (std::int64_t i = 0; i < sizes.rows.input; ++i, rows.next()) {
    Over columns(sizes.columns);
    for (std::int64_t j = 0; j < sizes.columns.input; ++j, columns.next(), dx += channels) {
      Cover covers[kMostCovers];
      int count = 0;
      bool add = false;
      for (auto row = rows.first(); row < rows.last(); ++row)
        for (auto column = columns.first(); column < columns.last(); ++column) {
          if (count == kMostCovers) {
            add ? gather<true>(covers, count, channels, winners, dy, dx)
                : gather<false>(covers, count, channels, winners, dy, dx);
            add = true;
            count = 0;
          }
          covers[count++] = {
              (row * sizes.columns.output + column) * channels,
              static_cast<int>(rows.place(row) * sizes.columns.window + columns.place(column))};
        }
      add ? gather<true>(covers, count, channels, winners, dy, dx)
          : gather<false>(covers, count, channels, winners, dy, dx);
    }
  }
}

template <class T>
void sum_won_rows(const T* dy, const std::uint8_t* winners, T* __restrict sums, std::int64_t rows,
                  std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) sums[c] = 0;
  for (; rows > 0; --rows, dy += columns, winners += columns)
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += winners[c] != kNoWinner ? dy[c] : T{0};
}

template <class T>
void avg_pool(const PoolingSizes& sizes, const T* x, T* y) {
  const auto channels = sizes.channels;
  each_window(sizes, [&](const Window& window, std::int64_t o) {
    const T scale = T{1} / static_cast<T>(window.pixels());
    each_lane_or_twice<T>(channels, [&](std::int64_t c, auto lanes) {
      auto sum = lanes.zero();
      window.each([&](std::int64_t i, std::int64_t) { sum += lanes.load(x + i * channels + c); });
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
      window.each([&](std::int64_t i, std::int64_t) {
        auto* out = dx + i * channels + c;
        lanes.store(out, lanes.load(out) + share);
      });
    });
  });
}

#define TROUPE_INSTANTIATE(T)                                                                      \
  template void max_pool(const PoolingSizes&, const T*, T*);                                       \
  template void max_pool_gradient(const PoolingSizes&, const T*, const T*, const T*, T*);          \
  template void max_pool_winners(const PoolingSizes&, bool, const T*, T*, std::uint8_t*);          \
  template void max_pool_winners_gradient(const PoolingSizes&, const std::uint8_t*, const T*, T*); \
  template void sum_won_rows(const T*, const std::uint8_t*, T*, std::int64_t, std::int64_t);       \
  template void avg_pool(const PoolingSizes&, const T*, T*);                                       \
  template void avg_pool_gradient(const PoolingSizes&, const T*, T*);

TROUPE_INSTANTIATE(float)
TROUPE_INSTANTIATE(double)

}  // namespace troupe::simd::TROUPE_ISA
