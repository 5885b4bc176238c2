#pragma once

// The vectors of the instruction set that a *.isa.cpp file is built for.

#include <cstdint>

#include "troupe/ops/simd/isa.h"

namespace troupe::simd::TROUPE_ISA {

#if defined(__AVX512F__)
constexpr int kRegister = 64;
#elif defined(__AVX__)
constexpr int kRegister = 32;
#else
constexpr int kRegister = 16;
#endif

template <class T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};

/// Some values that stand side by side: a vector of them, or a single one.
template <class V>
struct Lanes {
  static V zero() { return V{}; }
  static V load(const void* from) {
    V v;
    __builtin_memcpy(&v, from, sizeof(V));
    return v;
  }
  static void store(void* to, V v) { __builtin_memcpy(to, &v, sizeof(V)); }
};

template <class T>
using WideLanes = Lanes<typename VectorOf<T, kRegister>::type>;
template <class T>
using NarrowLanes = Lanes<typename VectorOf<T, 16>::type>;

/// Calls fn(i, lanes) for `count` values: a register full of them at a time,
/// then 16 bytes, then one by one.
template <class T, class Fn>
void each_lane(std::int64_t count, Fn fn) {
  constexpr int kWide = kRegister / sizeof(T);
  constexpr int kNarrow = 16 / sizeof(T);
  std::int64_t i = 0;
  for (; i + kWide <= count; i += kWide) fn(i, WideLanes<T>());
  for (; i + kNarrow <= count; i += kNarrow) fn(i, NarrowLanes<T>());
  for (; i < count; ++i) fn(i, Lanes<T>());
}

/// The same where fn may see a value twice: none is alone, unless there are
/// fewer than 16 bytes of them.
template <class T, class Fn>
void each_lane_or_twice(std::int64_t count, Fn fn) {
  constexpr int kWide = kRegister / sizeof(T);
  constexpr int kNarrow = 16 / sizeof(T);
  const auto cover = [&](auto lanes, int width) {
    for (std::int64_t i = 0; i < count; i += width)
      fn(i + width <= count ? i : count - width, lanes);
  };
  if (count >= kWide)
    cover(WideLanes<T>(), kWide);
  else if (count >= kNarrow)
    cover(NarrowLanes<T>(), kNarrow);
  else
    cover(Lanes<T>(), 1);
}

}  // namespace troupe::simd::TROUPE_ISA
