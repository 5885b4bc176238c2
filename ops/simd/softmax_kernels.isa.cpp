#include "troupe/ops/simd/softmax_kernels.h"

#include "troupe/ops/simd/float_math.h"

namespace troupe::simd::TROUPE_ISA {
namespace {

constexpr int kParts = 16;

/// Calls fn(i, values) for sixteen values of a row at a time; behind its end stand `filler`s.
template <class T, class Fn>
TROUPE_INLINE void each_sixteen(const T* x, std::int64_t count, T filler, Fn fn) {
  std::int64_t i = 0;
  for (; i + kParts <= count; i += kParts) fn(i, x + i);
  if (i == count) return;
  T rest[kParts];
  for (int j = 0; j < kParts; ++j) rest[j] = i + j < count ? x[i + j] : filler;
  fn(i, static_cast<const T*>(rest));
}

template <class T>
void store_some(const T (&values)[kParts], std::int64_t left, T* to) {
  if (left >= kParts)
    __builtin_memcpy(to, values, sizeof(values));
  else
    for (std::int64_t j = 0; j < left; ++j) to[j] = values[j];
}

template <class T>
T total(T (&parts)[kParts]) {
  for (int half = kParts / 2; half > 0; half /= 2)
    for (int j = 0; j < half; ++j) parts[j] += parts[j + half];
  return parts[0];
}

template <class T>
T greatest_of(const T* x, std::int64_t count) {
  T most[kParts];
  for (auto& value : most) value = -static_cast<T>(__builtin_inf());
  each_sixteen(
      x, count, most[0], [&](std::int64_t, const T* values) __attribute__((always_inline)) {
        for (int j = 0; j < kParts; ++j) most[j] = values[j] > most[j] ? values[j] : most[j];
      });
  for (int j = 1; j < kParts; ++j) most[0] = most[j] > most[0] ? most[j] : most[0];
  return most[0];
}

template <class T>
T dot(const T* a, const T* b, std::int64_t count) {
  T sums[kParts] = {};
  std::int64_t i = 0;
  for (; i + kParts <= count; i += kParts)
    for (int j = 0; j < kParts; ++j) sums[j] += a[i + j] * b[i + j];
  for (int j = 0; i + j < count; ++j) sums[j] += a[i + j] * b[i + j];
  return total(sums);
}

}  // namespace

template <class T>
T exponentials(const T* x, std::int64_t count, T* to, T* greatest) {
  const T most = greatest_of(x, count);
  *greatest = most;
  T sums[kParts] = {};
  const T nothing = -static_cast<T>(__builtin_inf());
  each_sixteen(
      x, count, nothing, [&](std::int64_t i, const T* values) __attribute__((always_inline)) {
        T powers[kParts];
        for (int j = 0; j < kParts; ++j) powers[j] = exp_of(values[j] - most);
        for (int j = 0; j < kParts; ++j) sums[j] += powers[j];
        if (to != nullptr) store_some(powers, count - i, to + i);
      });
  return total(sums);
}

template <class T>
void softmax_row(const T* x, std::int64_t count, T* to) {
  T greatest;
  const T sum = exponentials(x, count, to, &greatest);
  for (std::int64_t i = 0; i < count; ++i) to[i] /= sum;
}

template <class T>
void log_softmax_row(const T* x, std::int64_t count, T* to) {
  T greatest;
  const T offset = log_of(exponentials<T>(x, count, nullptr, &greatest));
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = x[i] - greatest - offset;
}

template <class T>
void softmax_row_gradient(const T* y, const T* dy, std::int64_t count, T* to) {
  const T sum = dot(y, dy, count);
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = (dy[i] - sum) * y[i];
}

template <class T>
void log_softmax_row_gradient(const T* y, const T* dy, std::int64_t count, T* to) {
  T sums[kParts] = {};
  each_sixteen(
      dy, count, T{0}, [&](std::int64_t, const T* values) __attribute__((always_inline)) {
        for (int j = 0; j < kParts; ++j) sums[j] += values[j];
      });
  const T sum = total(sums);
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = dy[i] - exp_of(y[i]) * sum;
}

#define TROUPE_INSTANTIATE(T)                                               \
  template T exponentials(const T*, std::int64_t, T*, T*);                  \
  template void softmax_row(const T*, std::int64_t, T*);                    \
  template void log_softmax_row(const T*, std::int64_t, T*);                \
  template void softmax_row_gradient(const T*, const T*, std::int64_t, T*); \
  template void log_softmax_row_gradient(const T*, const T*, std::int64_t, T*);

TROUPE_INSTANTIATE(float)
TROUPE_INSTANTIATE(double)

}  // namespace troupe::simd::TROUPE_ISA
