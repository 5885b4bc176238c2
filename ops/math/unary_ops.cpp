#include <numbers>

#include "troupe/ops/elementwise.h"
#include "troupe/ops/math/families.h"
#include "troupe/ops/math/unary_kernel.h"
#include "troupe/ops/simd/unary_functions.h"

namespace troupe {
namespace {

using simd::Elementwise;
namespace fn = simd::portable;

struct Sin : fn::Costly {
  static float of(float x, float, float) { return __builtin_sinf(x); }
  static double of(double x, double, double) { return __builtin_sin(x); }
};
struct Cos : fn::Costly {
  static float of(float x, float, float) { return __builtin_cosf(x); }
  static double of(double x, double, double) { return __builtin_cos(x); }
};
struct Erf : fn::Costly {
  static float of(float x, float, float) { return __builtin_erff(x); }
  static double of(double x, double, double) { return __builtin_erf(x); }
};

// abs, neg, sign and square are of all numbers.

void numeric_shape(InferContext& c) {
  if (!is_numeric(c.dtype(0))) c.fail("x is ", c.dtype(0), ", but must be a number");
  c.output(c.input(0));
}

template <class F, auto kFast>
KernelPtr numeric_unary_cpu(const KernelInit& init) {
  return dispatch_numeric(init.dtype(), init.node.op->name, [&]<class T>() {
    return unary_kernel(init, unary_loop<F, kFast, T>(), cycles<F, kFast, T>());
  });
}

template <class F, auto kFast>
constexpr OpDef numeric_unary(std::string_view name, GradientList (*gradient)(const Backward&)) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = 1,
          .infer = numeric_shape,
          .cpu = numeric_unary_cpu<F, kFast>,
          .gradient = gradient,
          .in_place = true};
}

Output unary(std::string_view op, Output x) { return x.graph().add(op, {x}).output(0); }

/// An op that makes dx from dy and the input, or the output.
GradientList from_x(std::string_view op, const Backward& b) {
  return {b.graph().add(op, {b.dy(), b.x()}).output(0)};
}
GradientList from_y(std::string_view op, const Backward& b) {
  return {b.graph().add(op, {b.dy(), b.y()}).output(0)};
}

/// Of functions that are constant nearly everywhere.
GradientList none(const Backward&) { return {{}}; }

GradientList exp_gradient(const Backward& b) { return {b.dy() * b.y()}; }
GradientList log_gradient(const Backward& b) { return {b.dy() / b.x()}; }
GradientList log1p_gradient(const Backward& b) { return {b.dy() / (1.0 + b.x())}; }
GradientList sqrt_gradient(const Backward& b) { return from_y("sqrt_grad", b); }
GradientList rsqrt_gradient(const Backward& b) { return from_y("rsqrt_grad", b); }
GradientList square_gradient(const Backward& b) { return from_x("square_grad", b); }
GradientList abs_gradient(const Backward& b) { return {b.dy() * sign(b.x())}; }
GradientList neg_gradient(const Backward& b) { return {-b.dy()}; }
GradientList reciprocal_gradient(const Backward& b) { return from_y("reciprocal_grad", b); }
GradientList sin_gradient(const Backward& b) { return {b.dy() * cos(b.x())}; }
GradientList cos_gradient(const Backward& b) { return {-(b.dy() * sin(b.x()))}; }
GradientList erf_gradient(const Backward& b) {
  return {b.dy() * (2 * std::numbers::inv_sqrtpi * exp(-square(b.x())))};
}

const OpDef exp_op = floating_unary<fn::Exp, &Elementwise::exp>("exp", exp_gradient);
const OpDef log_op = floating_unary<fn::Log, &Elementwise::log>("log", log_gradient);
const OpDef log1p_op = floating_unary<fn::Log1p, &Elementwise::log1p>("log1p", log1p_gradient);
const OpDef sqrt_op = floating_unary<fn::Sqrt, &Elementwise::sqrt>("sqrt", sqrt_gradient);
const OpDef rsqrt_op = floating_unary<fn::Rsqrt, &Elementwise::rsqrt>("rsqrt", rsqrt_gradient);
const OpDef reciprocal_op =
    floating_unary<fn::Reciprocal, &Elementwise::reciprocal>("reciprocal", reciprocal_gradient);
const OpDef floor_op = floating_unary<fn::Floor, &Elementwise::floor>("floor", none);
const OpDef ceil_op = floating_unary<fn::Ceil, &Elementwise::ceil>("ceil", none);
const OpDef round_op = floating_unary<fn::Round, &Elementwise::round>("round", none);
const OpDef sin_op = floating_unary<Sin>("sin", sin_gradient);
const OpDef cos_op = floating_unary<Cos>("cos", cos_gradient);
const OpDef erf_op = floating_unary<Erf>("erf", erf_gradient);
const OpDef square_op = numeric_unary<fn::Square, &Elementwise::square>("square", square_gradient);
const OpDef abs_op = numeric_unary<fn::Abs, &Elementwise::abs>("abs", abs_gradient);
const OpDef neg_op = numeric_unary<fn::Neg, &Elementwise::neg>("neg", neg_gradient);
const OpDef sign_op = numeric_unary<fn::Sign, &Elementwise::sign>("sign", none);

const OpDef sqrt_grad_op = gradient_op<fn::SqrtGrad, &Elementwise::sqrt_grad>("sqrt_grad");
const OpDef rsqrt_grad_op = gradient_op<fn::RsqrtGrad, &Elementwise::rsqrt_grad>("rsqrt_grad");
const OpDef square_grad_op = gradient_op<fn::SquareGrad, &Elementwise::square_grad>("square_grad");
const OpDef reciprocal_grad_op =
    gradient_op<fn::ReciprocalGrad, &Elementwise::reciprocal_grad>("reciprocal_grad");

}  // namespace

OpFamily unary_ops() {
  return {&exp_op,    &log_op,       &log1p_op,      &sqrt_op,        &rsqrt_op,
          &square_op, &abs_op,       &neg_op,        &sign_op,        &reciprocal_op,
          &floor_op,  &ceil_op,      &round_op,      &sin_op,         &cos_op,
          &erf_op,    &sqrt_grad_op, &rsqrt_grad_op, &square_grad_op, &reciprocal_grad_op};
}

Output exp(Output x) { return unary("exp", x); }
Output log(Output x) { return unary("log", x); }
Output log1p(Output x) { return unary("log1p", x); }
Output sqrt(Output x) { return unary("sqrt", x); }
Output rsqrt(Output x) { return unary("rsqrt", x); }
Output square(Output x) { return unary("square", x); }
Output abs(Output x) { return unary("abs", x); }
Output neg(Output x) { return unary("neg", x); }
Output sign(Output x) { return unary("sign", x); }
Output reciprocal(Output x) { return unary("reciprocal", x); }
Output floor(Output x) { return unary("floor", x); }
Output ceil(Output x) { return unary("ceil", x); }
Output round(Output x) { return unary("round", x); }
Output sin(Output x) { return unary("sin", x); }
Output cos(Output x) { return unary("cos", x); }
Output erf(Output x) { return unary("erf", x); }
Output operator-(Output x) { return neg(x); }

}  // namespace troupe
