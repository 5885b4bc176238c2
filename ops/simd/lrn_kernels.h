#pragma once

#include <cstdint>

#include "troupe/ops/simd/isa.h"

namespace troupe::simd {

/// Local response normalisation of Krizhevsky et al. 2012 over the channels of a
/// pixel: y[c] = x[c] / (bias + alpha sum of x[j]^2)^beta for |j - c| <= radius.
struct LrnSizes {
  std::int64_t channels;
  std::int64_t radius;
  double bias, alpha, beta;

  /// Pixels that are worked on together: a few kilobytes of them. What one step
  /// stores is then in the cache when the next one loads it across vectors.
  std::int64_t block() const { return channels > 0 && channels < 1024 ? 1024 / channels : 1; }
  /// What the kernels need beside their operands, in values.
  std::int64_t scratch() const { return block() * (3 * channels + 2 * radius); }
};

TROUPE_EACH_ISA(template <class T>
                void lrn(const LrnSizes& sizes, const T* x, T* y, T* scratch, std::int64_t pixels);
                template <class T> void lrn_gradient(const LrnSizes& sizes, const T* x, const T* dy,
                                                     T* dx, T* scratch, std::int64_t pixels);)

}  // namespace troupe::simd
