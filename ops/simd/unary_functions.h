#pragma once

// Functions of one value and their gradients. The parameters p and q are 0
// where a function has none.

#include "troupe/ops/simd/binary_functions.h"

namespace troupe::simd::TROUPE_LEVEL {

// clang-format off
struct Exp { template <class T> static TROUPE_INLINE T of(T x, T, T) { return exp_of(x); } };
struct Log { template <class T> static TROUPE_INLINE T of(T x, T, T) { return log_of(x); } };
struct Log1p { template <class T> static TROUPE_INLINE T of(T x, T, T) { return log1p_of(x); } };
struct Sqrt { template <class T> static TROUPE_INLINE T of(T x, T, T) { return sqrt_of(x); } };
struct Rsqrt { template <class T> static TROUPE_INLINE T of(T x, T, T) { return T{1} / sqrt_of(x); } };
struct Square { template <class T> static TROUPE_INLINE T of(T x, T, T) { return Mul::of(x, x); } };
struct Neg { template <class T> static TROUPE_INLINE T of(T x, T, T) { return kIsFloating<T> ? -x : Sub::of(T{0}, x); } };
struct Abs { template <class T> static TROUPE_INLINE T of(T x, T, T) {
  if constexpr (kIsFloating<T>) return abs_of(x);
  else return x < T{0} ? Sub::of(T{0}, x) : x;
} };
struct Sign { template <class T> static TROUPE_INLINE T of(T x, T, T) {
  return x > T{0} ? T{1} : (x < T{0} ? static_cast<T>(-1) : x);  // zero and NaN stay
} };
struct Reciprocal { template <class T> static TROUPE_INLINE T of(T x, T, T) { return T{1} / x; } };
struct Floor { template <class T> static TROUPE_INLINE T of(T x, T, T) { return floor_of(x); } };
struct Ceil { template <class T> static TROUPE_INLINE T of(T x, T, T) { return ceil_of(x); } };
struct Round { template <class T> static TROUPE_INLINE T of(T x, T, T) { return round_of(x); } };
struct Tanh { template <class T> static TROUPE_INLINE T of(T x, T, T) { return tanh_of(x); } };
struct Sigmoid { template <class T> static TROUPE_INLINE T of(T x, T, T) { return sigmoid_of(x); } };
struct Softsign { template <class T> static TROUPE_INLINE T of(T x, T, T) { return x / (T{1} + abs_of(x)); } };
struct Softplus { template <class T> static TROUPE_INLINE T of(T x, T, T) {
  return (x > T{0} ? x : T{0}) + log1p_of_fraction(exp_of(-abs_of(x)));
} };
// Where x is compared, NaN takes the branch that keeps it.
struct Relu { template <class T> static TROUPE_INLINE T of(T x, T, T) { return T{0} > x ? T{0} : x; } };
struct Clip { template <class T> static TROUPE_INLINE T of(T x, T low, T high) {
  return x < low ? low : (x > high ? high : x);
} };
struct LeakyRelu { template <class T> static TROUPE_INLINE T of(T x, T slope, T) { return x < T{0} ? slope * x : x; } };
struct Elu { template <class T> static TROUPE_INLINE T of(T x, T, T) {
  const T below = expm1_of_negative(x < T{0} ? x : T{0});
  return x < T{0} ? below : x;
} };

// From dy and the output y.
struct ReluGrad { template <class T> static TROUPE_INLINE T of(T dy, T y, T, T) { return y > T{0} ? dy : T{0}; } };
struct TanhGrad { template <class T> static TROUPE_INLINE T of(T dy, T y, T, T) { return dy * (T{1} - y * y); } };
struct SigmoidGrad { template <class T> static TROUPE_INLINE T of(T dy, T y, T, T) { return dy * (y * (T{1} - y)); } };
struct EluGrad { template <class T> static TROUPE_INLINE T of(T dy, T y, T, T) { return y < T{0} ? dy * (y + T{1}) : dy; } };
struct SqrtGrad { template <class T> static TROUPE_INLINE T of(T dy, T y, T, T) { return dy * T{0.5} / y; } };
struct RsqrtGrad { template <class T> static TROUPE_INLINE T of(T dy, T y, T, T) { return T{-0.5} * dy * (y * y * y); } };
struct ReciprocalGrad { template <class T> static TROUPE_INLINE T of(T dy, T y, T, T) { return -dy * (y * y); } };

// From dy and the input x.
struct ClipGrad { template <class T> static TROUPE_INLINE T of(T dy, T x, T low, T high) {
  return x < low ? T{0} : (x > high ? T{0} : dy);
} };
struct Relu6Grad { template <class T> static TROUPE_INLINE T of(T dy, T x, T, T) {
  return x > T{0} ? (x < T{6} ? dy : T{0}) : T{0};
} };
struct LeakyReluGrad { template <class T> static TROUPE_INLINE T of(T dy, T x, T slope, T) { return x > T{0} ? dy : slope * dy; } };
struct SoftplusGrad { template <class T> static TROUPE_INLINE T of(T dy, T x, T, T) { return dy * sigmoid_of(x); } };
struct SoftsignGrad { template <class T> static TROUPE_INLINE T of(T dy, T x, T, T) {
  const T scale = T{1} + abs_of(x);
  return dy / (scale * scale);
} };
struct SquareGrad { template <class T> static TROUPE_INLINE T of(T dy, T x, T, T) { return T{2} * dy * x; } };
// clang-format on

}  // namespace troupe::simd::TROUPE_LEVEL
