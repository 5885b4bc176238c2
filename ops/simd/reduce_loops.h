#pragma once

// Reductions as loops, over a function that combines and the type. The order in
// which values are combined depends on their number alone, so that a result is
// the same on every processor and with any number of threads.

#include <limits>

#include "troupe/ops/simd/binary_functions.h"
#include "troupe/ops/simd/reduce.h"

namespace troupe::simd::TROUPE_LEVEL {

// A reduction R of values X has a type State, the State it starts from, a way to
// widen a value to a State, and a function that combines two.

template <class X, class S>
struct SumOf {
  using Value = X;
  using State = S;
  static constexpr S kStart = 0;
  static TROUPE_INLINE S widen(X x) { return static_cast<S>(x); }
  static TROUPE_INLINE S combine(S a, S b) { return Add::of(a, b); }
};

template <class X, class S>
struct SumOfSquares : SumOf<X, S> {
  static TROUPE_INLINE S widen(X x) { return static_cast<S>(x) * static_cast<S>(x); }
};

template <class X, class S>
struct ProductOf {
  using Value = X;
  using State = S;
  static constexpr S kStart = 1;
  static TROUPE_INLINE S widen(X x) { return static_cast<S>(x); }
  static TROUPE_INLINE S combine(S a, S b) { return Mul::of(a, b); }
};

/// What no value of the type is above, and below.
template <class X>
constexpr X kLowest = std::numeric_limits<X>::has_infinity ? -std::numeric_limits<X>::infinity()
                                                           : std::numeric_limits<X>::lowest();
template <class X>
constexpr X kHighest = std::numeric_limits<X>::has_infinity ? std::numeric_limits<X>::infinity()
                                                            : std::numeric_limits<X>::max();

template <class X>
struct MaxOf {
  using Value = X;
  using State = X;
  static constexpr X kStart = kLowest<X>;
  static TROUPE_INLINE X widen(X x) { return x; }
  static TROUPE_INLINE X combine(X a, X b) { return Maximum::of(a, b); }
};

template <class X>
struct MinOf {
  using Value = X;
  using State = X;
  static constexpr X kStart = kHighest<X>;
  static TROUPE_INLINE X widen(X x) { return x; }
  static TROUPE_INLINE X combine(X a, X b) { return Minimum::of(a, b); }
};

template <class R>
void start(void* state, std::int64_t n) {
  auto* to = static_cast<typename R::State*>(state);
  for (std::int64_t i = 0; i < n; ++i) to[i] = R::kStart;
}

template <class R>
void row(const void* x, std::int64_t n, void* state) {
  // Several chains of additions run side by side: one alone waits for its result.
  constexpr int kLanes = 32;
  const auto* from = static_cast<const typename R::Value*>(x);
  auto& total = *static_cast<typename R::State*>(state);
  std::int64_t i = 0;
  if (n >= kLanes) {
    typename R::State lanes[kLanes];
    for (auto& lane : lanes) lane = R::kStart;
    for (; i + kLanes <= n; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lanes[k] = R::combine(lanes[k], R::widen(from[i + k]));
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int k = 0; k < width; ++k) lanes[k] = R::combine(lanes[k], lanes[k + width]);
    total = R::combine(total, lanes[0]);
  }
  for (; i < n; ++i) total = R::combine(total, R::widen(from[i]));
}

template <class R>
void columns_one_by_one(const typename R::Value* x, std::int64_t count, std::int64_t stride,
                        std::int64_t n, typename R::State* to) {
  std::int64_t r = 0;
  // Four rows at a time spare loads and stores of wide states.
  constexpr bool kWidened = sizeof(typename R::State) > sizeof(typename R::Value);
  for (; kWidened && r + 4 <= count; r += 4, x += 4 * stride) {
    const auto* a = x;
    const auto* b = x + stride;
    const auto* c = x + 2 * stride;
    const auto* d = x + 3 * stride;
    TROUPE_INDEPENDENT
    for (std::int64_t i = 0; i < n; ++i)
      to[i] = R::combine(to[i], R::combine(R::combine(R::widen(a[i]), R::widen(b[i])),
                                           R::combine(R::widen(c[i]), R::widen(d[i]))));
  }
  for (; r < count; ++r, x += stride) {
    TROUPE_INDEPENDENT
    for (std::int64_t i = 0; i < n; ++i) to[i] = R::combine(to[i], R::widen(x[i]));
  }
}

template <class R>
void columns(const void* x, std::int64_t count, std::int64_t stride, std::int64_t n, void* state) {
  const auto* from = static_cast<const typename R::Value*>(x);
  auto* to = static_cast<typename R::State*>(state);
  // Few columns make short loops: several rows together are one longer row.
  constexpr std::int64_t kWide = 128;
  const auto together = n > 0 ? kWide / n : 0;
  if (stride == n && together >= 4 && count >= 8 * together) {
    typename R::State wide[kWide];
    const auto width = together * n;
    start<R>(wide, width);
    columns_one_by_one<R>(from, count / together, width, width, wide);
    for (std::int64_t k = 0; k < together; ++k)
      for (std::int64_t i = 0; i < n; ++i) to[i] = R::combine(to[i], wide[k * n + i]);
    from += count / together * width;
    count %= together;
  }
  columns_one_by_one<R>(from, count, stride, n, to);
}

template <class R>
void merge(const void* from, void* into, std::int64_t n) {
  const auto* a = static_cast<const typename R::State*>(from);
  auto* to = static_cast<typename R::State*>(into);
  for (std::int64_t i = 0; i < n; ++i) to[i] = R::combine(to[i], a[i]);
}

template <class R>
void finish(const void* state, void* y, std::int64_t n, double scale) {
  const auto* from = static_cast<const typename R::State*>(state);
  auto* to = static_cast<typename R::Value*>(y);
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (kIsFloating<typename R::State>)
      to[i] = static_cast<typename R::Value>(from[i] * static_cast<typename R::State>(scale));
    else
      to[i] = static_cast<typename R::Value>(from[i]);
  }
}

template <class R>
constexpr Reduce reduce_of() {
  return {.width = sizeof(typename R::State),
          .start = start<R>,
          .row = row<R>,
          .columns = columns<R>,
          .merge = merge<R>,
          .finish = finish<R>};
}

}  // namespace troupe::simd::TROUPE_LEVEL
