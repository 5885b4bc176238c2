#include "troupe/ops/dispatch.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/math/binary_kernel.h"
#include "troupe/ops/math/families.h"
#include "troupe/ops/math/unary_kernel.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

namespace fn = simd::portable;

void comparison_shape(InferContext& c) {
  for (int i = 0; i < 2; ++i)
    if (!is_numeric(c.dtype(i)) && c.dtype(i) != DType::boolean)
      c.fail("input ", i, " is ", c.dtype(i), ", but must be a number or bool");
  c.expect_same_dtype(0, 1);
  c.output(DType::boolean, broadcast(c.shape(0), c.shape(1)));
}

void expect_bool(const InferContext& c, int i) {
  if (c.dtype(i) != DType::boolean) c.fail("input ", i, " is ", c.dtype(i), ", but must be bool");
}

void logical_shape(InferContext& c) {
  expect_bool(c, 0);
  expect_bool(c, 1);
  c.output(DType::boolean, broadcast(c.shape(0), c.shape(1)));
}

void not_shape(InferContext& c) {
  expect_bool(c, 0);
  c.output(c.input(0));
}

// clang-format off
struct Equal { template <class T> static bool of(T a, T b) { return a == b; } };
struct NotEqual { template <class T> static bool of(T a, T b) { return a != b; } };
struct Less { template <class T> static bool of(T a, T b) { return a < b; } };
struct LessEqual { template <class T> static bool of(T a, T b) { return a <= b; } };
struct Greater { template <class T> static bool of(T a, T b) { return a > b; } };
struct GreaterEqual { template <class T> static bool of(T a, T b) { return a >= b; } };
struct And { static bool of(bool a, bool b) { return a & b; } };
struct Or { static bool of(bool a, bool b) { return a | b; } };
struct Not { static bool of(bool x, bool, bool) { return !x; } };
// clang-format on

template <class F>
KernelPtr comparison_cpu(const KernelInit& init) {
  return dispatch_numeric_or_bool(init.dtype(), init.node.op->name, [&]<class T>() {
    return binary_kernel(init, {.loops = fn::binary_loops<F, T, bool>(), .cycles = 0.5});
  });
}

template <class F>
KernelPtr logical_cpu(const KernelInit& init) {
  return binary_kernel(init, {.loops = fn::binary_loops<F, bool>(), .cycles = 0.5});
}

KernelPtr not_cpu(const KernelInit& init) {
  return unary_kernel(init, fn::unary_loop<Not, bool>, 0.5);
}

template <class F>
constexpr OpDef comparison(std::string_view name) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = comparison_shape,
          .cpu = comparison_cpu<F>};
}

template <class F>
constexpr OpDef logical(std::string_view name) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = logical_shape,
          .cpu = logical_cpu<F>,
          .in_place = true};
}

const OpDef equal_op = comparison<Equal>("equal");
const OpDef not_equal_op = comparison<NotEqual>("not_equal");
const OpDef less_op = comparison<Less>("less");
const OpDef less_equal_op = comparison<LessEqual>("less_equal");
const OpDef greater_op = comparison<Greater>("greater");
const OpDef greater_equal_op = comparison<GreaterEqual>("greater_equal");
const OpDef and_op = logical<And>("logical_and");
const OpDef or_op = logical<Or>("logical_or");
const OpDef not_op{.name = "logical_not",
                   .min_inputs = 1,
                   .max_inputs = 1,
                   .infer = not_shape,
                   .cpu = not_cpu,
                   .in_place = true};

Output binary(std::string_view op, Output a, Output b) {
  return a.graph().add(op, {a, b}).output(0);
}

}  // namespace

OpFamily comparison_ops() {
  return {&equal_op,         &not_equal_op, &less_op, &less_equal_op, &greater_op,
          &greater_equal_op, &and_op,       &or_op,   &not_op};
}

Output equal(Output a, Output b) { return binary("equal", a, b); }
Output not_equal(Output a, Output b) { return binary("not_equal", a, b); }
Output less(Output a, Output b) { return binary("less", a, b); }
Output less_equal(Output a, Output b) { return binary("less_equal", a, b); }
Output greater(Output a, Output b) { return binary("greater", a, b); }
Output greater_equal(Output a, Output b) { return binary("greater_equal", a, b); }
Output logical_and(Output a, Output b) { return binary("logical_and", a, b); }
Output logical_or(Output a, Output b) { return binary("logical_or", a, b); }
Output logical_not(Output x) { return x.graph().add("logical_not", {x}).output(0); }

}  // namespace troupe
