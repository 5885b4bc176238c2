#include <cmath>
#include <limits>
#include <type_traits>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/math/families.h"
#include "troupe/ops/math/unary_kernel.h"
#include "troupe/ops/op.h"
#include "troupe/ops/simd/elementwise.h"

namespace troupe {
namespace {

void cast_shape(InferContext& c) {
  const auto to = c.attributes().get<DType>("dtype");
  if (c.dtype(0) == DType::string || to == DType::string)
    c.fail("cannot cast ", c.dtype(0), " to ", to);
  c.output(to, c.shape(0));
}

/// Also of the 16-bit floats, which only this op computes with.
template <class Fn>
auto dispatch_any_number(DType type, Fn&& fn) {
  if (type == DType::bfloat16) return fn.template operator()<bfloat16>();
  if (type == DType::float16) return fn.template operator()<float16>();
  return dispatch_numeric_or_bool(type, "cast", fn);
}

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

/// C++ leaves out what a float becomes that the integer cannot hold; here it is
/// the nearest that it can, and 0 for NaN.
template <class To, class From>
To to_integer(From x) {
  constexpr auto lowest = std::numeric_limits<To>::lowest();
  constexpr auto highest = std::numeric_limits<To>::max();
  if (!(x >= static_cast<From>(lowest))) return std::isnan(x) ? To{0} : lowest;
  if (x >= static_cast<From>(highest)) return highest;
  return static_cast<To>(x);
}

template <class To, class From>
To convert(From x) {
  if constexpr (kIsHalf<From>)
    return convert<To>(to_float(x));
  else if constexpr (std::is_same_v<To, bfloat16>)
    return to_bfloat16(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, float16>)
    return to_float16(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>)
    return x != From{0};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    return to_integer<To>(x);
  else
    return static_cast<To>(x);
}

template <class From, class To>
void cast_loop(const void* x, void* y, std::int64_t n, double, double) {
  const auto* from = static_cast<const From*>(x);
  auto* to = static_cast<To*>(y);
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) to[i] = convert<To>(from[i]);
}

KernelPtr cast_cpu(const KernelInit& init) {
  const auto from = init.inputs[0].dtype;
  const auto to = init.outputs[0].dtype;
  if (from == DType::uint8 && to == DType::float32)
    return unary_kernel(init, simd::elementwise().float_from_uint8, 0.3);
  return dispatch_any_number(from, [&]<class From>() {
    return dispatch_any_number(
        to, [&]<class To>() { return unary_kernel(init, cast_loop<From, To>, 2); });
  });
}

GradientList cast_gradient(const Backward& b) {
  if (!is_floating(b.x().dtype()) || !is_floating(b.dy().dtype())) return {{}};
  return {cast(b.dy(), b.x().dtype())};
}

const OpDef cast_op{.name = "cast",
                    .min_inputs = 1,
                    .max_inputs = 1,
                    .infer = cast_shape,
                    .cpu = cast_cpu,
                    .gradient = cast_gradient};

}  // namespace

OpFamily cast_ops() { return {&cast_op}; }

Output cast(Output x, DType dtype) {
  return x.dtype() == dtype ? x : x.graph().add("cast", {x}, {{"dtype", dtype}}).output(0);
}

}  // namespace troupe
