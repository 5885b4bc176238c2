#pragma once

// exp, log, tanh and their kin for one float, written so that a loop over them
// becomes vector code: no branch, no call, no table. They are within 4 units in
// the last place of the exact value and treat infinities and NaN as libm does.
//
// The polynomials are those of the Cephes library (S. Moshier, single/*.c).
// Beside each function stands the one for double, which is libm's.

#include "troupe/ops/simd/loops.h"

namespace troupe::simd::TROUPE_LEVEL {

// Unsigned, so that bits of NaN and of negative numbers may wrap around.
TROUPE_INLINE std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
TROUPE_INLINE float from_bits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
/// An exponent in its place among the bits of a float.
TROUPE_INLINE std::uint32_t exponent_bits(std::int32_t exponent) {
  return static_cast<std::uint32_t>(exponent) << 23;
}

constexpr float kInfinity = __builtin_inff();
constexpr float kNaN = __builtin_nanf("");

/// x = n ln 2 + r with an integer n and |r| <= ln 2 / 2.
struct ExpParts {
  float r;
  std::int32_t n;
};
TROUPE_INLINE ExpParts split_for_exp(float x) {
  constexpr float kRound = 12582912.f;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  const float shifted = x * 1.44269504088896341f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  return {r, static_cast<std::int32_t>(bits_of(shifted) - bits_of(kRound))};
}

/// exp(r) - 1 for |r| <= ln 2 / 2.
TROUPE_INLINE float expm1_near_zero(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return p * r * r + r;
}

TROUPE_INLINE float exp_of(float x) {
  x = x > 89.f ? 89.f : x;  // beyond these the result is infinity, and zero
  x = x < -104.f ? -104.f : x;
  const auto [r, n] = split_for_exp(x);
  // 2^n in two factors: one alone cannot be infinite or denormal.
  const std::int32_t half = n >> 1;
  const float low = from_bits(exponent_bits(half + 127));
  const float high = from_bits(exponent_bits(n - half + 127));
  return (expm1_near_zero(r) + 1.f) * low * high;
}
TROUPE_INLINE double exp_of(double x) { return __builtin_exp(x); }

/// exp(x) - 1 for x <= 0; without cancellation near zero.
TROUPE_INLINE float expm1_of_negative(float x) {
  x = x < -30.f ? -30.f : x;
  const auto [r, n] = split_for_exp(x);
  const float scale = from_bits(exponent_bits(n + 127));
  return scale * expm1_near_zero(r) + (scale - 1.f);
}
TROUPE_INLINE double expm1_of_negative(double x) { return __builtin_expm1(x); }

/// log(x 2^shift) for a positive, finite x that is not denormal.
TROUPE_INLINE float log_of_normal(float x, std::int32_t shift) {
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)).
  const std::uint32_t bits = bits_of(x);
  const std::int32_t exponent = static_cast<std::int32_t>(bits - 0x3f3504f3u) >> 23;
  const float m = from_bits(bits - exponent_bits(exponent)) - 1.f;
  const float e = static_cast<float>(exponent + shift);
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float square = m * m;
  const float low = p * m * square - e * 2.12194440e-4f - 0.5f * square;
  return m + low + e * 0.693359375f;
}

TROUPE_INLINE float log_of(float x) {
  const bool denormal = x < 1.17549435e-38f;
  float y = log_of_normal(denormal ? x * 8388608.f : x, denormal ? -23 : 0);
  y = x < kInfinity ? y : x;  // infinity and NaN
  y = x < 0.f ? kNaN : y;
  return x == 0.f ? -kInfinity : y;
}
TROUPE_INLINE double log_of(double x) { return __builtin_log(x); }

TROUPE_INLINE float log1p_of(float x) {
  const float w = 1.f + x;
  const float lost = x - (w - 1.f);  // what rounding took from w
  const float y = log_of(w);
  const float corrected = y + lost / w;
  return w > 0.f && w < kInfinity ? corrected : y;
}
TROUPE_INLINE double log1p_of(double x) { return __builtin_log1p(x); }

/// log(1 + x) for x in [0, 1].
TROUPE_INLINE float log1p_of_fraction(float x) {
  const float w = 1.f + x;
  return log_of_normal(w, 0) + (x - (w - 1.f)) / w;
}
TROUPE_INLINE double log1p_of_fraction(double x) { return __builtin_log1p(x); }

TROUPE_INLINE float abs_of(float x) { return __builtin_fabsf(x); }
TROUPE_INLINE double abs_of(double x) { return __builtin_fabs(x); }

TROUPE_INLINE float tanh_of(float x) {
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * x + x;
  const float magnitude = abs_of(x);
  const float far = 1.f - 2.f / (exp_of(2.f * magnitude) + 1.f);
  return magnitude < 0.625f ? near : __builtin_copysignf(far, x);
}
TROUPE_INLINE double tanh_of(double x) { return __builtin_tanh(x); }

/// 1 / (1 + exp(-x)), without overflow on either side.
template <class T>
TROUPE_INLINE T sigmoid_of(T x) {
  const T e = exp_of(-abs_of(x));
  const T s = T{1} / (T{1} + e);
  return x < T{0} ? e * s : s;
}

TROUPE_INLINE float sqrt_of(float x) { return __builtin_sqrtf(x); }
TROUPE_INLINE double sqrt_of(double x) { return __builtin_sqrt(x); }
TROUPE_INLINE float floor_of(float x) { return __builtin_floorf(x); }
TROUPE_INLINE double floor_of(double x) { return __builtin_floor(x); }
TROUPE_INLINE float ceil_of(float x) { return __builtin_ceilf(x); }
TROUPE_INLINE double ceil_of(double x) { return __builtin_ceil(x); }
TROUPE_INLINE float round_of(float x) { return __builtin_rintf(x); }
TROUPE_INLINE double round_of(double x) { return __builtin_rint(x); }

}  // namespace troupe::simd::TROUPE_LEVEL
