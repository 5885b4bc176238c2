#include "troupe/ops/simd/optimizer.h"

#include "troupe/ops/simd/loops.h"

namespace troupe::simd::TROUPE_ISA {
namespace {

inline float root(float x) { return __builtin_sqrtf(x); }
inline double root(double x) { return __builtin_sqrt(x); }

}  // namespace

template <class T>
void sgd_step(std::int64_t count, InOut<T> value, const T* gradient, T rate) {
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) value.to[i] = value.from[i] - rate * gradient[i];
}

template <class T>
void momentum_step(std::int64_t count, InOut<T> value, InOut<T> sum, const T* gradient, T rate,
                   T momentum) {
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const T s = momentum * sum.from[i] + gradient[i];
    sum.to[i] = s;
    value.to[i] = value.from[i] - rate * s;
  }
}

template <class T>
void nesterov_step(std::int64_t count, InOut<T> value, InOut<T> sum, const T* gradient, T rate,
                   T momentum) {
  const T look_ahead = rate * momentum;
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const T s = momentum * sum.from[i] + gradient[i];
    sum.to[i] = s;
    value.to[i] = value.from[i] - (rate * gradient[i] + look_ahead * s);
  }
}

template <class T>
void adagrad_step(std::int64_t count, InOut<T> value, InOut<T> sum, const T* gradient, T rate) {
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const T g = gradient[i];
    const T s = sum.from[i] + g * g;
    sum.to[i] = s;
    value.to[i] = value.from[i] - rate * g / root(s);
  }
}

template <class T>
void adam_step(std::int64_t count, InOut<T> value, InOut<T> m, InOut<T> v, const T* gradient,
               T rate, T beta1, T beta2, T epsilon) {
  const T fresh1 = 1 - beta1;
  const T fresh2 = 1 - beta2;
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const T g = gradient[i];
    const T mean = m.from[i] + (g - m.from[i]) * fresh1;
    const T square = v.from[i] + (g * g - v.from[i]) * fresh2;
    m.to[i] = mean;
    v.to[i] = square;
    value.to[i] = value.from[i] - rate * mean / (root(square) + epsilon);
  }
}

template <class T>
void rmsprop_step(std::int64_t count, InOut<T> value, InOut<T> square, const T* gradient, T rate,
                  T decay, T epsilon) {
  const T fresh = 1 - decay;
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const T g = gradient[i];
    const T s = square.from[i] + (g * g - square.from[i]) * fresh;
    square.to[i] = s;
    value.to[i] = value.from[i] - rate * g / root(s + epsilon);
  }
}

template <class T>
void rmsprop_momentum_step(std::int64_t count, InOut<T> value, InOut<T> square, InOut<T> sum,
                           const T* gradient, T rate, T decay, T momentum, T epsilon) {
  const T fresh = 1 - decay;
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const T g = gradient[i];
    const T s = square.from[i] + (g * g - square.from[i]) * fresh;
    const T moved = momentum * sum.from[i] + rate * g / root(s + epsilon);
    square.to[i] = s;
    sum.to[i] = moved;
    value.to[i] = value.from[i] - moved;
  }
}

template <class T>
void average_step(std::int64_t count, InOut<T> average, const T* value, T weight) {
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i)
    average.to[i] = average.from[i] - weight * (average.from[i] - value[i]);
}

#define TROUPE_INSTANTIATE(T)                                                                     \
  template void sgd_step(std::int64_t, InOut<T>, const T*, T);                                    \
  template void momentum_step(std::int64_t, InOut<T>, InOut<T>, const T*, T, T);                  \
  template void nesterov_step(std::int64_t, InOut<T>, InOut<T>, const T*, T, T);                  \
  template void adagrad_step(std::int64_t, InOut<T>, InOut<T>, const T*, T);                      \
  template void adam_step(std::int64_t, InOut<T>, InOut<T>, InOut<T>, const T*, T, T, T, T);      \
  template void rmsprop_step(std::int64_t, InOut<T>, InOut<T>, const T*, T, T, T);                \
  template void rmsprop_momentum_step(std::int64_t, InOut<T>, InOut<T>, InOut<T>, const T*, T, T, \
                                      T, T);                                                      \
  template void average_step(std::int64_t, InOut<T>, const T*, T);

TROUPE_INSTANTIATE(float)
TROUPE_INSTANTIATE(double)

}  // namespace troupe::simd::TROUPE_ISA
