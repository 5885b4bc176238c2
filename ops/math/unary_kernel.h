#pragma once

#include <type_traits>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/op.h"
#include "troupe/ops/simd/elementwise.h"

namespace troupe {

/// The kernel of y = f(x), value by value. `cycles` is the cost of one value.
KernelPtr unary_kernel(const KernelInit& init, simd::UnaryLoop loop, double cycles, double p = 0,
                       double q = 0);

/// The kernel of dx = f(dy, v) for two inputs of one shape.
KernelPtr gradient_kernel(const KernelInit& init, simd::GradientLoop loop, double cycles,
                          double p = 0, double q = 0);

/// Whether kFast is a member of simd::Elementwise: a loop over float32 in the
/// table of the processor. It is nullptr for functions that are not there.
template <auto kFast>
constexpr bool kHasFast = !std::is_null_pointer_v<decltype(kFast)>;

/// The loop of the function F over T, from the table where that has it.
template <class F, auto kFast, class T>
simd::UnaryLoop unary_loop() {
  if constexpr (std::is_same_v<T, float> && kHasFast<kFast>)
    return simd::elementwise().*kFast;
  else
    return simd::portable::unary_loop<F, T>;
}

/// What a value costs. Beside the table there are float64 and libm.
template <class F, auto kFast, class T>
constexpr double cycles() {
  return F::kCycles * (std::is_same_v<T, float> && kHasFast<kFast> ? 1 : 8);
}

/// The kernel of the function F of one floating value.
template <class F, auto kFast>
KernelPtr floating_unary_cpu(const KernelInit& init, double p = 0, double q = 0) {
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() {
    return unary_kernel(init, unary_loop<F, kFast, T>(), cycles<F, kFast, T>(), p, q);
  });
}

/// The loop of the gradient F over T, likewise.
template <class F, auto kFast, class T>
simd::GradientLoop gradient_loop() {
  if constexpr (std::is_same_v<T, float>)
    return simd::elementwise().*kFast;
  else
    return simd::portable::gradient_loop<F, T>;
}

/// The kernel of the gradient F for two inputs of one shape.
template <class F, auto kFast>
KernelPtr gradient_cpu(const KernelInit& init, double p = 0, double q = 0) {
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() {
    return gradient_kernel(init, gradient_loop<F, kFast, T>(), cycles<F, kFast, T>(), p, q);
  });
}

/// The rules for shapes: one floating input, or dy and a value of the same shape.
void floating_unary_shape(InferContext& c);
void gradient_shape(InferContext& c);

/// The record of a gradient op: dx from dy and the input or output of a function.
template <class F, auto kFast>
constexpr OpDef gradient_op(std::string_view name) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = gradient_shape,
          .cpu = [](const KernelInit& init) { return gradient_cpu<F, kFast>(init); },
          .in_place = true};
}

/// The record of a function of one floating value.
template <class F, auto kFast = nullptr>
constexpr OpDef floating_unary(std::string_view name, GradientList (*gradient)(const Backward&)) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = 1,
          .infer = floating_unary_shape,
          .cpu = [](const KernelInit& init) { return floating_unary_cpu<F, kFast>(init); },
          .gradient = gradient,
          .in_place = true};
}

}  // namespace troupe
