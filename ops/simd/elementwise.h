#pragma once

#include "troupe/ops/simd/isa.h"
#include "troupe/ops/simd/loops.h"

namespace troupe::simd {

/// The element-wise loops over float32, built for each instruction set.
struct Elementwise {
  BinaryLoops add, sub, mul, div, maximum, minimum, squared_difference;

  UnaryLoop exp, log, log1p, sqrt, rsqrt, square, abs, neg, sign, reciprocal;
  UnaryLoop floor, ceil, round;
  UnaryLoop tanh, sigmoid, softsign, softplus, relu, elu;
  UnaryLoop leaky_relu;  ///< p is the slope below zero
  UnaryLoop clip;        ///< to [p, q]

  // From dy and y.
  GradientLoop relu_grad, tanh_grad, sigmoid_grad, elu_grad, sqrt_grad, rsqrt_grad, reciprocal_grad;
  // From dy and x.
  GradientLoop clip_grad, relu6_grad, leaky_relu_grad, softplus_grad, softsign_grad, square_grad;

  UnaryLoop float_from_uint8;
};

TROUPE_EACH_ISA(extern const Elementwise elementwise;)

/// Those for this processor.
const Elementwise& elementwise();

}  // namespace troupe::simd
