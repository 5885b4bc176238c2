#include <algorithm>
#include <cmath>

#include "troupe/ops/catalog.h"
#include "troupe/ops/dispatch.h"
#include "troupe/ops/normalization.h"

namespace troupe {
namespace {

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

/// A kernel that calls row.operator()<T>(classes, in, in2, out) for each row;
/// in2 is null for an op of one input.
template <class Row>
KernelPtr by_rows(const KernelInit& init, double cycles_per_value, Row row) {
  const auto& shape = init.inputs[0].shape;
  const auto classes = shape[-1];
  const auto rows = classes == 0 ? 0 : shape.volume() / classes;
  const bool two = init.inputs.size() > 1;
  const auto cost = cycles_per_value * static_cast<double>(classes);
  return dispatch_floating(init.dtype(), init.node.op->name, [&]<class T>() {
    return make_kernel(
        [=](const Run& run) {
          run.intra.parallel_for(rows, cost, [&](auto begin, auto end) {
            for (auto i = begin; i < end; ++i)
              row(classes, run.in<T>(0) + i * classes, two ? run.in<T>(1) + i * classes : nullptr,
                  run.out<T>() + i * classes);
          });
        },
        cost * static_cast<double>(rows));
  });
}

KernelPtr softmax_cpu(const KernelInit& init) {
  return by_rows(init, 20, []<class T>(std::int64_t n, const T* x, const T*, T* y) {
    const T greatest = *std::max_element(x, x + n);
    T sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += y[i] = std::exp(x[i] - greatest);
    for (std::int64_t i = 0; i < n; ++i) y[i] /= sum;
  });
}

KernelPtr log_softmax_cpu(const KernelInit& init) {
  return by_rows(init, 20, []<class T>(std::int64_t n, const T* x, const T*, T* y) {
    const T greatest = *std::max_element(x, x + n);
    T sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - greatest);
    const T offset = std::log(sum);
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] - greatest - offset;
  });
}

KernelPtr softmax_gradient_cpu(const KernelInit& init) {
  return by_rows(init, 1, []<class T>(std::int64_t n, const T* y, const T* dy, T* dx) {
    T sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += y[i] * dy[i];
    for (std::int64_t i = 0; i < n; ++i) dx[i] = (dy[i] - sum) * y[i];
  });
}

KernelPtr log_softmax_gradient_cpu(const KernelInit& init) {
  return by_rows(init, 20, []<class T>(std::int64_t n, const T* y, const T* dy, T* dx) {
    T sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += dy[i];
    for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] - std::exp(y[i]) * sum;
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
