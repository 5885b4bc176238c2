#pragma once

// Loops over contiguous values, as templates over the function of one value and
// the type. A file that is built per instruction set has its own instances, in
// the namespace of its level; all other files share those in `portable`.

#include <cstdint>

#ifdef TROUPE_ISA
#define TROUPE_LEVEL TROUPE_ISA
#else
#define TROUPE_LEVEL portable
#endif

// The output may stand where an input stands: then value i still depends on value
// i alone, but compilers see that the ranges overlap and fall back to scalar code.
#if defined(__clang__)
#define TROUPE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TROUPE_INDEPENDENT _Pragma("GCC ivdep")
#endif

// A function that is called instead of inlined keeps its loop from becoming vector code.
#define TROUPE_INLINE inline __attribute__((always_inline))

namespace troupe::simd {

/// y[i] = f(a[i], b[i]) for n values.
using BinaryLoop = void (*)(const void* a, const void* b, void* y, std::int64_t n);

/// One function in the three forms that broadcasting needs: two rows, or one row
/// and one value.
struct BinaryLoops {
  BinaryLoop rows = nullptr;
  BinaryLoop left_value = nullptr;
  BinaryLoop right_value = nullptr;
};

/// y[i] = f(x[i]) for n values; p and q are parameters, such as the slope of leaky_relu.
using UnaryLoop = void (*)(const void* x, void* y, std::int64_t n, double p, double q);

/// dx[i] = f(dy[i], v[i]) for n values; v is the input or the output of the function.
using GradientLoop = void (*)(const void* dy, const void* v, void* dx, std::int64_t n, double p,
                              double q);

namespace TROUPE_LEVEL {

template <class F, class X, class Y>
void rows(const void* a, const void* b, void* y, std::int64_t n) {
  const auto* left = static_cast<const X*>(a);
  const auto* right = static_cast<const X*>(b);
  auto* out = static_cast<Y*>(y);
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) out[i] = F::of(left[i], right[i]);
}

template <class F, class X, class Y>
void left_value(const void* a, const void* b, void* y, std::int64_t n) {
  const X left = *static_cast<const X*>(a);
  const auto* right = static_cast<const X*>(b);
  auto* out = static_cast<Y*>(y);
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) out[i] = F::of(left, right[i]);
}

template <class F, class X, class Y>
void right_value(const void* a, const void* b, void* y, std::int64_t n) {
  const auto* left = static_cast<const X*>(a);
  const X right = *static_cast<const X*>(b);
  auto* out = static_cast<Y*>(y);
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) out[i] = F::of(left[i], right);
}

template <class F, class X, class Y = X>
constexpr BinaryLoops binary_loops() {
  return {rows<F, X, Y>, left_value<F, X, Y>, right_value<F, X, Y>};
}

template <class F, class X>
void unary_loop(const void* x, void* y, std::int64_t n, double p, double q) {
  const auto* in = static_cast<const X*>(x);
  auto* out = static_cast<X*>(y);
  const auto first = static_cast<X>(p);
  const auto second = static_cast<X>(q);
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) out[i] = F::of(in[i], first, second);
}

template <class F, class X>
void gradient_loop(const void* dy, const void* v, void* dx, std::int64_t n, double p, double q) {
  const auto* upstream = static_cast<const X*>(dy);
  const auto* value = static_cast<const X*>(v);
  auto* out = static_cast<X*>(dx);
  const auto first = static_cast<X>(p);
  const auto second = static_cast<X>(q);
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) out[i] = F::of(upstream[i], value[i], first, second);
}

}  // namespace TROUPE_LEVEL
}  // namespace troupe::simd
