#include "troupe/ops/catalog.h"
#include "troupe/ops/dispatch.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/simd/softmax_kernels.h"

namespace troupe {
namespace {

template <class T>
constexpr double kCyclesPerExp = 3;
template <>
constexpr double kCyclesPerExp<double> = 20;  // libm's

void softmax_shape(InferContext& c) {
  c.expect_floating(0);
  if (c.shape(0).rank() < 1) c.fail("input 0 is a scalar, but needs at least one axis");
  for (int i = 1; i < c.inputs(); ++i) {
    c.expect_same_dtype(0, i);
    if (!compatible(c.shape(0), c.shape(i)))
      c.fail("inputs 0 and ", i, " have shapes ", c.shape(0), " and ", c.shape(i),
             ", but must have the same");
  }
  c.output(c.input(0));
}

/// A kernel that calls row(run, offset, classes) for each row.
template <class Row>
KernelPtr by_rows(const KernelInit& init, double cycles_per_value, Row row) {
  const auto& shape = init.inputs[0].shape;
  const auto classes = shape[-1];
  const auto rows = classes == 0 ? 0 : shape.volume() / classes;
  const auto cost = 20 + cycles_per_value * static_cast<double>(classes);
  return make_kernel(
      [=](const Run& run) {
        run.intra.parallel_for(rows, cost, [&](auto begin, auto end) {
          for (auto i = begin; i < end; ++i) row(run, i * classes, classes);
        });
      },
      cost * static_cast<double>(rows));
}

/// The kernel of a function of a row.
template <class T>
KernelPtr of_row(const KernelInit& init, void (*function)(const T*, std::int64_t, T*)) {
  return by_rows(init, kCyclesPerExp<T>, [function](const Run& run, auto offset, auto classes) {
    function(run.in<T>(0) + offset, classes, run.out<T>() + offset);
  });
}

/// The kernel of its gradient, from the output and the gradient of that.
template <class T>
KernelPtr of_two_rows(const KernelInit& init, double cycles_per_value,
                      void (*function)(const T*, const T*, std::int64_t, T*)) {
  return by_rows(init, cycles_per_value, [function](const Run& run, auto offset, auto classes) {
    function(run.in<T>(0) + offset, run.in<T>(1) + offset, classes, run.out<T>() + offset);
  });
}

template <class Fn>
KernelPtr dispatch(const KernelInit& init, Fn fn) {
  return dispatch_floating(init.dtype(), init.node.op->name, fn);
}

KernelPtr softmax_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() { return of_row<T>(init, TROUPE_PICK(softmax_row<T>)); });
}

KernelPtr log_softmax_cpu(const KernelInit& init) {
  return dispatch(init,
                  [&]<class T>() { return of_row<T>(init, TROUPE_PICK(log_softmax_row<T>)); });
}

KernelPtr softmax_gradient_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() {
    return of_two_rows<T>(init, 1, TROUPE_PICK(softmax_row_gradient<T>));
  });
}

KernelPtr log_softmax_gradient_cpu(const KernelInit& init) {
  return dispatch(init, [&]<class T>() {
    return of_two_rows<T>(init, kCyclesPerExp<T>, TROUPE_PICK(log_softmax_row_gradient<T>));
  });
}

GradientList softmax_gradient(const Backward& b) {
  return {b.graph().add("softmax_grad", {b.y(), b.dy()}).output(0)};
}
GradientList log_softmax_gradient(const Backward& b) {
  return {b.graph().add("log_softmax_grad", {b.y(), b.dy()}).output(0)};
}

const OpDef softmax_op{.name = "softmax",
                       .min_inputs = 1,
                       .max_inputs = 1,
                       .infer = softmax_shape,
                       .cpu = softmax_cpu,
                       .gradient = softmax_gradient,
                       .in_place = true};
const OpDef log_softmax_op{.name = "log_softmax",
                           .min_inputs = 1,
                           .max_inputs = 1,
                           .infer = softmax_shape,
                           .cpu = log_softmax_cpu,
                           .gradient = log_softmax_gradient,
                           .in_place = true};
const OpDef softmax_grad_op{.name = "softmax_grad",
                            .min_inputs = 2,
                            .max_inputs = 2,
                            .infer = softmax_shape,
                            .cpu = softmax_gradient_cpu,
                            .in_place = true};
const OpDef log_softmax_grad_op{.name = "log_softmax_grad",
                                .min_inputs = 2,
                                .max_inputs = 2,
                                .infer = softmax_shape,
                                .cpu = log_softmax_gradient_cpu,
                                .in_place = true};

}  // namespace

OpFamily softmax_ops() {
  return {&softmax_op, &log_softmax_op, &softmax_grad_op, &log_softmax_grad_op};
}

Output softmax(Output x) { return x.graph().add("softmax", {x}).output(0); }
Output log_softmax(Output x) { return x.graph().add("log_softmax", {x}).output(0); }

}  // namespace troupe
