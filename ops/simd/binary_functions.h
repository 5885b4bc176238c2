#pragma once

// Functions of two values. Integers wrap around as two's complement does; C++
// leaves that undefined for signed types, so the arithmetic is done unsigned.

#include "troupe/ops/simd/float_math.h"

namespace troupe::simd::TROUPE_LEVEL {

template <class T>
constexpr bool kIsFloating = false;
template <>
inline constexpr bool kIsFloating<float> = true;
template <>
inline constexpr bool kIsFloating<double> = true;

struct Add {
  template <class T>
  static TROUPE_INLINE T of(T a, T b) {
    if constexpr (kIsFloating<T>)
      return a + b;
    else
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};

struct Sub {
  template <class T>
  static TROUPE_INLINE T of(T a, T b) {
    if constexpr (kIsFloating<T>)
      return a - b;
    else
      return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
};

struct Mul {
  template <class T>
  static TROUPE_INLINE T of(T a, T b) {
    if constexpr (kIsFloating<T>)
      return a * b;
    else
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};

/// Integers are rounded towards zero; b is not zero (the kernel looks first).
struct Div {
  template <class T>
  static TROUPE_INLINE T of(T a, T b) {
    if constexpr (kIsFloating<T>)
      return a / b;
    else if constexpr (static_cast<T>(-1) < T{0})
      return b == T{-1} ? Sub::of(T{0}, a) : static_cast<T>(a / b);  // the smallest / -1 wraps
    else
      return static_cast<T>(a / b);
  }
};

/// NaN when either is, as in NumPy.
struct Maximum {
  template <class T>
  static TROUPE_INLINE T of(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};

struct Minimum {
  template <class T>
  static TROUPE_INLINE T of(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};

struct SquaredDifference {
  template <class T>
  static TROUPE_INLINE T of(T a, T b) {
    const T d = Sub::of(a, b);
    return Mul::of(d, d);
  }
};

}  // namespace troupe::simd::TROUPE_LEVEL
