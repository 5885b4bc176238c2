#include <bit>
#include <cmath>
#include <limits>

#include "troupe/ops/autocast.h"
#include "troupe/ops/math/families.h"
#include "troupe/ops/math/unary_kernel.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

void round_shape(InferContext& c) {
  const auto to = c.attributes().get<DType>("dtype");
  if (to != DType::bfloat16 && to != DType::float16)
    c.fail("rounds to bfloat16 or float16, not to ", to);
  if (c.dtype(0) != DType::float32) c.fail("rounds float32, not ", c.dtype(0));
  c.output(c.dtype(0), c.shape(0));
}

/// `bits` without the last `Cut` of them, to nearest, ties to even.
template <int Cut>
std::uint32_t rounded(std::uint32_t bits) {
  constexpr std::uint32_t kBelowHalf = (1U << (Cut - 1)) - 1;
  return (bits + kBelowHalf + ((bits >> Cut) & 1U)) & ~((1U << Cut) - 1);
}

// Both loops are without branches, so that the compiler can make vectors of them.

void round_to_bfloat16(const void* x, void* y, std::int64_t n, double, double) {
  const auto* from = static_cast<const float*>(x);
  auto* to = static_cast<float*>(y);
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = from[i];
    const auto near = std::bit_cast<float>(rounded<16>(std::bit_cast<std::uint32_t>(value)));
    to[i] = value == value ? near : value;
  }
}

void round_to_float16(const void* x, void* y, std::int64_t n, double, double) {
  constexpr float kSmallestNormal = 0x1p-14F, kFirstTooLarge = 65520;
  // Adding it leaves no bits below 2^-24, the distance of subnormal numbers.
  constexpr float kSubnormal = 0.75F;
  const auto* from = static_cast<const float*>(x);
  auto* to = static_cast<float*>(y);
  TROUPE_INDEPENDENT
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = from[i];
    const auto size = std::abs(value);
    const auto normal = std::bit_cast<float>(rounded<13>(std::bit_cast<std::uint32_t>(size)));
    const auto small = (size + kSubnormal) - kSubnormal;
    auto near = size < kSmallestNormal ? small : normal;
    near = size >= kFirstTooLarge ? std::numeric_limits<float>::infinity() : near;
    to[i] = value == value ? std::copysign(near, value) : value;
  }
}

KernelPtr round_cpu(const KernelInit& init) {
  const auto half = init.attributes().get<DType>("dtype");
  return unary_kernel(init, half == DType::bfloat16 ? round_to_bfloat16 : round_to_float16, 0.5);
}

GradientList round_gradient(const Backward& b) {
  return {round_to(b.dy(), b.attributes().get<DType>("dtype"))};
}

const OpDef round_op{.name = "round_to",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .infer = round_shape,
                     .cpu = round_cpu,
                     .gradient = round_gradient};

thread_local DType rounded_to = DType::float32;

}  // namespace

OpFamily round_ops() { return {&round_op}; }

Output round_to(Output x, DType half) {
  return x.graph().add("round_to", {x}, {{"dtype", half}}).output(0);
}

AutocastScope::AutocastScope(DType type) : outer_(rounded_to) {
  if (type != DType::float32 && type != DType::bfloat16 && type != DType::float16)
    fail(Code::invalid_argument, "autocast is to float32, bfloat16 or float16, not to ", type);
  rounded_to = type;
}
AutocastScope::~AutocastScope() { rounded_to = outer_; }

Output autocast(Output x) {
  if (rounded_to == DType::float32 || x.dtype() != DType::float32) return x;
  return round_to(x, rounded_to);
}

}  // namespace troupe
