#include <cstring>
#include <type_traits>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/math/binary_kernel.h"
#include "troupe/ops/math/broadcast_gradient.h"
#include "troupe/ops/math/families.h"
#include "troupe/ops/math/unary_kernel.h"
#include "troupe/ops/op.h"
#include "troupe/ops/simd/binary_functions.h"
#include "troupe/ops/simd/elementwise.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using simd::Elementwise;
namespace fn = simd::portable;

void broadcast_shape(InferContext& c) {
  for (int i = 0; i < 2; ++i)
    if (!is_numeric(c.dtype(i))) c.fail("input ", i, " is ", c.dtype(i), ", but must be a number");
  c.expect_same_dtype(0, 1);
  c.output(c.dtype(0), broadcast(c.shape(0), c.shape(1)));
}

struct Pow {
  template <class T>
  static T of(T base, T exponent) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::is_same_v<T, float> ? __builtin_powf(base, exponent)
                                      : __builtin_pow(base, exponent);
    } else {
      T result = 1;
      for (T square = base; exponent > 0; exponent = static_cast<T>(exponent / 2)) {
        if (exponent % 2 != 0) result = fn::Mul::of(result, square);
        square = fn::Mul::of(square, square);
      }
      return result;
    }
  }
};

struct Mod {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T rest = std::is_same_v<T, float> ? __builtin_fmodf(a, b) : __builtin_fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      // The rest of the smallest integer by -1 is 0, but the processor traps on it.
      const T rest = std::is_signed_v<T> && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
  }
};

struct FloorDiv {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return fn::floor_of(a / b);
    } else {
      const T quotient = fn::Div::of(a, b);
      return Mod::of(a, b) != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
    }
  }
};

template <class T>
std::int64_t find_zero(const void* right, std::int64_t count) {
  const auto* values = static_cast<const T*>(right);
  for (std::int64_t i = 0; i < count; ++i)
    if (values[i] == 0) return i;
  return -1;
}

template <class T>
std::int64_t find_negative(const void* right, std::int64_t count) {
  const auto* values = static_cast<const T*>(right);
  for (std::int64_t i = 0; i < count; ++i)
    if (values[i] < 0) return i;
  return -1;
}

template <class F>
constexpr bool kDivides =
    std::is_same_v<F, fn::Div> || std::is_same_v<F, FloorDiv> || std::is_same_v<F, Mod>;

template <class F, auto kFast, class T>
simd::BinaryLoops arithmetic_loops() {
  if constexpr (std::is_same_v<T, float> && kHasFast<kFast>)
    return simd::elementwise().*kFast;
  else
    return fn::binary_loops<F, T>();
}

template <class F, auto kFast>
KernelPtr arithmetic_cpu(const KernelInit& init) {
  BinaryFunction function;
  dispatch_numeric(init.dtype(), init.node.op->name, [&]<class T>() {
    function.loops = arithmetic_loops<F, kFast, T>();
    function.cycles = !kHasFast<kFast> ? 20 : std::is_same_v<T, float> ? 0.4 : 1;
    if constexpr (std::is_integral_v<T> && kDivides<F>) {
      function.find_bad = find_zero<T>;
      function.complaint = "an integer is divided by zero";
    } else if constexpr (std::is_integral_v<T> && std::is_same_v<F, Pow>) {
      function.find_bad = find_negative<T>;
      function.complaint = "an integer has a negative exponent";
    }
  });
  return binary_kernel(init, function);
}

template <class F, auto kFast = nullptr>
constexpr OpDef arithmetic(std::string_view name, GradientList (*gradient)(const Backward&)) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = broadcast_shape,
          .cpu = arithmetic_cpu<F, kFast>,
          .gradient = gradient,
          .in_place = true};
}

/// From gradients for the two operands that are still of the shape of the output.
GradientList both(const Backward& b, Output da, Output db) {
  return {unbroadcast(b, da, 0), unbroadcast(b, db, 1)};
}

GradientList add_gradient(const Backward& b) { return both(b, b.dy(), b.dy()); }
GradientList sub_gradient(const Backward& b) {
  // The sum over broadcast axes first: the sign is then changed on fewer values.
  return {unbroadcast(b, b.dy(), 0), -unbroadcast(b, b.dy(), 1)};
}
GradientList mul_gradient(const Backward& b) { return both(b, b.dy() * b.x(1), b.dy() * b.x(0)); }
GradientList div_gradient(const Backward& b) {
  const auto da = b.dy() / b.x(1);
  return both(b, da, -(da * b.y()));
}
GradientList mod_gradient(const Backward& b) {
  return both(b, b.dy(), -(b.dy() * floor_div(b.x(0), b.x(1))));
}
GradientList none(const Backward&) { return {{}, {}}; }
GradientList squared_difference_gradient(const Backward& b) {
  const auto d = b.dy() * (2.0 * (b.x(0) - b.x(1)));
  return {unbroadcast(b, d, 0), -unbroadcast(b, d, 1)};
}

GradientList maximum_gradient(const Backward& b) {
  const auto a_wins = greater_equal(b.x(0), b.x(1));
  const auto nothing = constant(b.graph(), 0, b.dy().dtype());
  return both(b, select(a_wins, b.dy(), nothing), select(a_wins, nothing, b.dy()));
}
GradientList minimum_gradient(const Backward& b) {
  const auto a_wins = less_equal(b.x(0), b.x(1));
  const auto nothing = constant(b.graph(), 0, b.dy().dtype());
  return both(b, select(a_wins, b.dy(), nothing), select(a_wins, nothing, b.dy()));
}
GradientList pow_gradient(const Backward& b) {
  const auto base = b.x(0);
  const auto exponent = b.x(1);
  const auto da = b.dy() * (exponent * pow(base, exponent - 1.0));
  // The logarithm of a base that is not positive counts as 0, as in TensorFlow.
  const auto zero = constant(b.graph(), 0, base.dtype());
  const auto logarithm = select(greater(base, zero), log(base), zero);
  return both(b, da, b.dy() * (b.y() * logarithm));
}

const OpDef add_op = arithmetic<fn::Add, &Elementwise::add>("add", add_gradient);
const OpDef sub_op = arithmetic<fn::Sub, &Elementwise::sub>("sub", sub_gradient);
const OpDef mul_op = arithmetic<fn::Mul, &Elementwise::mul>("mul", mul_gradient);
const OpDef div_op = arithmetic<fn::Div, &Elementwise::div>("div", div_gradient);
const OpDef maximum_op =
    arithmetic<fn::Maximum, &Elementwise::maximum>("maximum", maximum_gradient);
const OpDef minimum_op =
    arithmetic<fn::Minimum, &Elementwise::minimum>("minimum", minimum_gradient);
const OpDef pow_op = arithmetic<Pow>("pow", pow_gradient);
const OpDef floor_div_op = arithmetic<FloorDiv>("floor_div", none);
const OpDef mod_op = arithmetic<Mod>("mod", mod_gradient);
const OpDef squared_difference_op =
    arithmetic<fn::SquaredDifference, &Elementwise::squared_difference>(
        "squared_difference", squared_difference_gradient);

Output binary(std::string_view op, Output a, Output b) {
  return a.graph().add(op, {a, b}).output(0);
}
Output number(double value, Output like) { return constant(like.graph(), value, like.dtype()); }

}  // namespace

OpFamily arithmetic_ops() {
  return {&add_op, &sub_op,     &mul_op,     &div_op, &floor_div_op,
          &mod_op, &maximum_op, &minimum_op, &pow_op, &squared_difference_op};
}

Output add(Output a, Output b) { return binary("add", a, b); }
Output sub(Output a, Output b) { return binary("sub", a, b); }
Output mul(Output a, Output b) { return binary("mul", a, b); }
Output div(Output a, Output b) { return binary("div", a, b); }
Output floor_div(Output a, Output b) { return binary("floor_div", a, b); }
Output mod(Output a, Output b) { return binary("mod", a, b); }
Output maximum(Output a, Output b) { return binary("maximum", a, b); }
Output minimum(Output a, Output b) { return binary("minimum", a, b); }
Output pow(Output a, Output b) { return binary("pow", a, b); }
Output squared_difference(Output a, Output b) { return binary("squared_difference", a, b); }

Output operator+(Output a, Output b) { return add(a, b); }
Output operator+(Output a, double b) { return add(a, number(b, a)); }
Output operator+(double a, Output b) { return add(number(a, b), b); }
Output operator-(Output a, Output b) { return sub(a, b); }
Output operator-(Output a, double b) { return sub(a, number(b, a)); }
Output operator-(double a, Output b) { return sub(number(a, b), b); }
Output operator*(Output a, Output b) { return mul(a, b); }
Output operator*(Output a, double b) { return mul(a, number(b, a)); }
Output operator*(double a, Output b) { return mul(number(a, b), b); }
Output operator/(Output a, Output b) { return div(a, b); }
Output operator/(Output a, double b) { return div(a, number(b, a)); }
Output operator/(double a, Output b) { return div(number(a, b), b); }

}  // namespace troupe
