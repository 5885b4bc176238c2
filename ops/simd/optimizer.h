#pragma once

#include <cstdint>

#include "troupe/ops/simd/isa.h"

namespace troupe::simd {

/// A run of values that an update reads and writes. Writing elsewhere than it
/// reads costs nothing extra; `to` may also be `from`, but not overlap it otherwise.
template <class T>
struct InOut {
  const T* from;
  T* to;
};

// One step of each optimizer on `count` values, as TensorFlow 1 writes it. T is
// float or double.
// clang-format off
TROUPE_EACH_ISA(
/// value -= rate * gradient
template <class T>
void sgd_step(std::int64_t count, InOut<T> value, const T* gradient, T rate);
/// sum = momentum * sum + gradient; value -= rate * sum
template <class T>
void momentum_step(std::int64_t count, InOut<T> value, InOut<T> sum, const T* gradient, T rate,
                   T momentum);
/// sum = momentum * sum + gradient; value -= rate * gradient + rate * momentum * sum
template <class T>
void nesterov_step(std::int64_t count, InOut<T> value, InOut<T> sum, const T* gradient, T rate,
                   T momentum);
/// sum += gradient^2; value -= rate * gradient / sqrt(sum)
template <class T>
void adagrad_step(std::int64_t count, InOut<T> value, InOut<T> sum, const T* gradient, T rate);
/// m += (gradient - m) (1 - beta1); v += (gradient^2 - v) (1 - beta2);
/// value -= rate * m / (sqrt(v) + epsilon)
template <class T>
void adam_step(std::int64_t count, InOut<T> value, InOut<T> m, InOut<T> v, const T* gradient,
               T rate, T beta1, T beta2, T epsilon);
/// square += (gradient^2 - square) (1 - decay); value -= rate * gradient / sqrt(square + epsilon)
template <class T>
void rmsprop_step(std::int64_t count, InOut<T> value, InOut<T> square, const T* gradient, T rate,
                  T decay, T epsilon);
/// The same with a momentum: sum = momentum * sum + rate * ...; value -= sum
template <class T>
void rmsprop_momentum_step(std::int64_t count, InOut<T> value, InOut<T> square, InOut<T> sum,
                           const T* gradient, T rate, T decay, T momentum, T epsilon);
/// average -= weight * (average - value)
template <class T>
void average_step(std::int64_t count, InOut<T> average, const T* value, T weight);
)
// clang-format on

}  // namespace troupe::simd
