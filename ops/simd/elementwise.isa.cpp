#include "troupe/ops/simd/elementwise.h"

#include "troupe/ops/simd/unary_functions.h"

namespace troupe::simd::TROUPE_ISA {
namespace {

template <class F>
constexpr BinaryLoops binary() {
  return binary_loops<F, float>();
}

void float_from_uint8(const void* x, void* y, std::int64_t n, double, double) {
  const auto* in = static_cast<const std::uint8_t*>(x);
  auto* out = static_cast<float*>(y);
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i]);
}

}  // namespace

const Elementwise elementwise{
    .add = binary<Add>(),
    .sub = binary<Sub>(),
    .mul = binary<Mul>(),
    .div = binary<Div>(),
    .maximum = binary<Maximum>(),
    .minimum = binary<Minimum>(),
    .squared_difference = binary<SquaredDifference>(),
    .exp = unary_loop<Exp, float>,
    .log = unary_loop<Log, float>,
    .log1p = unary_loop<Log1p, float>,
    .sqrt = unary_loop<Sqrt, float>,
    .rsqrt = unary_loop<Rsqrt, float>,
    .square = unary_loop<Square, float>,
    .abs = unary_loop<Abs, float>,
    .neg = unary_loop<Neg, float>,
    .sign = unary_loop<Sign, float>,
    .reciprocal = unary_loop<Reciprocal, float>,
    .floor = unary_loop<Floor, float>,
    .ceil = unary_loop<Ceil, float>,
    .round = unary_loop<Round, float>,
    .tanh = unary_loop<Tanh, float>,
    .sigmoid = unary_loop<Sigmoid, float>,
    .softsign = unary_loop<Softsign, float>,
    .softplus = unary_loop<Softplus, float>,
    .relu = unary_loop<Relu, float>,
    .elu = unary_loop<Elu, float>,
    .leaky_relu = unary_loop<LeakyRelu, float>,
    .clip = unary_loop<Clip, float>,
    .relu_grad = gradient_loop<ReluGrad, float>,
    .tanh_grad = gradient_loop<TanhGrad, float>,
    .sigmoid_grad = gradient_loop<SigmoidGrad, float>,
    .elu_grad = gradient_loop<EluGrad, float>,
    .sqrt_grad = gradient_loop<SqrtGrad, float>,
    .rsqrt_grad = gradient_loop<RsqrtGrad, float>,
    .reciprocal_grad = gradient_loop<ReciprocalGrad, float>,
    .clip_grad = gradient_loop<ClipGrad, float>,
    .relu6_grad = gradient_loop<Relu6Grad, float>,
    .leaky_relu_grad = gradient_loop<LeakyReluGrad, float>,
    .softplus_grad = gradient_loop<SoftplusGrad, float>,
    .softsign_grad = gradient_loop<SoftsignGrad, float>,
    .square_grad = gradient_loop<SquareGrad, float>,
    .float_from_uint8 = float_from_uint8,
};

}  // namespace troupe::simd::TROUPE_ISA
