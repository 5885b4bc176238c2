#include <type_traits>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/math/reduced_axes.h"
#include "troupe/ops/math/reduction_families.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/simd/reduce_loops.h"

namespace troupe {
namespace {

namespace fn = simd::portable;

void expect_number(const InferContext& c) {
  if (!is_numeric(c.dtype(0))) c.fail("x is ", c.dtype(0), ", but must be a number");
}

void reduce(InferContext& c) {
  const auto axes = reduced_axes(c.attributes(), c.shape(0));
  c.output(c.dtype(0), reduced_shape(c.shape(0), axes, c.attributes().get_or("keep_dims", false)));
}

void numeric_shape(InferContext& c) {
  expect_number(c);
  reduce(c);
}
void mean_shape(InferContext& c) {
  c.expect_floating(0);
  reduce(c);
}
void logical_shape(InferContext& c) {
  if (c.dtype(0) != DType::boolean) c.fail("x is ", c.dtype(0), ", but must be bool");
  reduce(c);
}
void scalar_shape(InferContext& c) {
  c.expect_floating(0);
  c.output(c.dtype(0), {});
}

AxisSet axes_of(const KernelInit& init) {
  return reduced_axes(init.attributes(), init.inputs[0].shape);
}

template <class T>
simd::Reduce sum_of() {
  if constexpr (std::is_same_v<T, float>)
    return simd::reduce_float().sum;
  else
    return fn::reduce_of<fn::SumOf<T, T>>();
}

KernelPtr sum_cpu(const KernelInit& init) {
  return dispatch_numeric(init.dtype(), "reduce_sum", [&]<class T>() {
    return reduce_kernel(init, axes_of(init), sum_of<T>());
  });
}

KernelPtr mean_cpu(const KernelInit& init) {
  const auto scale = static_cast<double>(init.outputs[0].shape.volume()) /
                     static_cast<double>(init.inputs[0].shape.volume());
  return dispatch_floating(init.dtype(), "reduce_mean", [&]<class T>() {
    return reduce_kernel(init, axes_of(init), sum_of<T>(), scale);
  });
}

KernelPtr prod_cpu(const KernelInit& init) {
  return dispatch_numeric(init.dtype(), "reduce_prod", [&]<class T>() {
    using State = std::conditional_t<std::is_same_v<T, float>, double, T>;
    return reduce_kernel(init, axes_of(init), fn::reduce_of<fn::ProductOf<T, State>>());
  });
}

KernelPtr max_cpu(const KernelInit& init) {
  return dispatch_numeric(init.dtype(), "reduce_max", [&]<class T>() {
    return reduce_kernel(
        init, axes_of(init),
        std::is_same_v<T, float> ? simd::reduce_float().max : fn::reduce_of<fn::MaxOf<T>>());
  });
}

KernelPtr min_cpu(const KernelInit& init) {
  return dispatch_numeric(init.dtype(), "reduce_min", [&]<class T>() {
    return reduce_kernel(
        init, axes_of(init),
        std::is_same_v<T, float> ? simd::reduce_float().min : fn::reduce_of<fn::MinOf<T>>());
  });
}

KernelPtr any_cpu(const KernelInit& init) {
  return reduce_kernel(init, axes_of(init), fn::reduce_of<fn::MaxOf<bool>>());
}
KernelPtr all_cpu(const KernelInit& init) {
  return reduce_kernel(init, axes_of(init), fn::reduce_of<fn::MinOf<bool>>());
}

KernelPtr l2_loss_cpu(const KernelInit& init) {
  const auto all = AxisSet().set();
  return dispatch_floating(init.dtype(), "l2_loss", [&]<class T>() {
    if constexpr (std::is_same_v<T, float>)
      return reduce_kernel(init, all, simd::reduce_float().sum_of_squares, 0.5);
    else
      return reduce_kernel(init, all, fn::reduce_of<fn::SumOfSquares<T, T>>(), 0.5);
  });
}

std::vector<std::int64_t> list(AxisSet axes, int rank) {
  std::vector<std::int64_t> found;
  for (int i = 0; i < rank; ++i)
    if (axes[i]) found.push_back(i);
  return found;
}

/// A value of the output's shape put where the input's values are that it stands for.
Output spread(const Backward& b, Output value, bool mean = false) {
  const auto& shape = b.x().shape();
  Attributes attributes{{"axes", list(reduced_axes(b.attributes(), shape), shape.rank())},
                        {"keep_dims", b.attributes().get_or("keep_dims", false)}};
  if (mean) attributes.set("mean", true);
  return b.graph().add("broadcast_like", {value, b.x()}, attributes).output(0);
}

GradientList sum_gradient(const Backward& b) { return {spread(b, b.dy())}; }
GradientList mean_gradient(const Backward& b) { return {spread(b, b.dy(), true)}; }
GradientList l2_loss_gradient(const Backward& b) { return {b.x() * b.dy()}; }

/// The gradient of max and min: shared by all values that equal the winner.
GradientList winner_gradient(const Backward& b) {
  const auto won = cast(equal(b.x(), spread(b, b.y())), b.x().dtype());
  const auto winners = b.graph().add("reduce_sum", {won}, b.attributes()).output(0);
  return {won * spread(b, b.dy() / winners)};
}

GradientList prod_gradient(const Backward& b) {
  return {b.graph().add("reduce_prod_grad", {b.x(), b.dy()}, b.attributes()).output(0)};
}

constexpr OpDef reduction_op(std::string_view name, void (*shape)(InferContext&),
                             KernelPtr (*cpu)(const KernelInit&),
                             GradientList (*gradient)(const Backward&) = nullptr) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = 1,
          .infer = shape,
          .cpu = cpu,
          .gradient = gradient};
}

const OpDef sum_op = reduction_op("reduce_sum", numeric_shape, sum_cpu, sum_gradient);
const OpDef mean_op = reduction_op("reduce_mean", mean_shape, mean_cpu, mean_gradient);
const OpDef prod_op = reduction_op("reduce_prod", numeric_shape, prod_cpu, prod_gradient);
const OpDef max_op = reduction_op("reduce_max", numeric_shape, max_cpu, winner_gradient);
const OpDef min_op = reduction_op("reduce_min", numeric_shape, min_cpu, winner_gradient);
const OpDef any_op = reduction_op("reduce_any", logical_shape, any_cpu);
const OpDef all_op = reduction_op("reduce_all", logical_shape, all_cpu);
const OpDef l2_loss_op = reduction_op("l2_loss", scalar_shape, l2_loss_cpu, l2_loss_gradient);
Output reduction(std::string_view op, Output x, const Axes& axes, bool keep_dims) {
  Attributes attributes{{"keep_dims", keep_dims}};
  if (!axes.all) attributes.set("axes", axes.list);
  return x.graph().add(op, {x}, std::move(attributes)).output(0);
}

}  // namespace

OpFamily axis_reduction_ops() {
  return {&sum_op, &mean_op, &prod_op, &max_op, &min_op, &any_op, &all_op, &l2_loss_op};
}

Output reduce_sum(Output x, const Axes& axes, bool keep_dims) {
  return reduction("reduce_sum", x, axes, keep_dims);
}
Output reduce_mean(Output x, const Axes& axes, bool keep_dims) {
  return reduction("reduce_mean", x, axes, keep_dims);
}
Output reduce_prod(Output x, const Axes& axes, bool keep_dims) {
  return reduction("reduce_prod", x, axes, keep_dims);
}
Output reduce_max(Output x, const Axes& axes, bool keep_dims) {
  return reduction("reduce_max", x, axes, keep_dims);
}
Output reduce_min(Output x, const Axes& axes, bool keep_dims) {
  return reduction("reduce_min", x, axes, keep_dims);
}
Output reduce_any(Output x, const Axes& axes, bool keep_dims) {
  return reduction("reduce_any", x, axes, keep_dims);
}
Output reduce_all(Output x, const Axes& axes, bool keep_dims) {
  return reduction("reduce_all", x, axes, keep_dims);
}

Output l2_loss(Output x) { return x.graph().add("l2_loss", {x}).output(0); }

}  // namespace troupe
