#include "troupe/ops/elementwise.h"
#include "troupe/ops/math/families.h"
#include "troupe/ops/math/unary_kernel.h"
#include "troupe/ops/simd/unary_functions.h"

namespace troupe {
namespace {

using simd::Elementwise;
namespace fn = simd::portable;

KernelPtr relu6_cpu(const KernelInit& init) {
  return floating_unary_cpu<fn::Clip, &Elementwise::clip>(init, 0, 6);
}

double slope(const Attributes& attributes) { return attributes.get_or("alpha", 0.2); }
KernelPtr leaky_relu_cpu(const KernelInit& init) {
  return floating_unary_cpu<fn::LeakyRelu, &Elementwise::leaky_relu>(init, slope(init.attributes()),
                                                                     0);
}
KernelPtr leaky_relu_grad_cpu(const KernelInit& init) {
  return gradient_cpu<fn::LeakyReluGrad, &Elementwise::leaky_relu_grad>(
      init, slope(init.attributes()), 0);
}

void clip_shape(InferContext& c) {
  const auto low = c.attributes().get<double>("min");
  const auto high = c.attributes().get<double>("max");
  if (!(low <= high))
    c.fail("min is ", low, " and max is ", high, ", but min must not be above max");
  floating_unary_shape(c);
}
KernelPtr clip_cpu(const KernelInit& init) {
  return floating_unary_cpu<fn::Clip, &Elementwise::clip>(
      init, init.attributes().get<double>("min"), init.attributes().get<double>("max"));
}
KernelPtr clip_grad_cpu(const KernelInit& init) {
  return gradient_cpu<fn::ClipGrad, &Elementwise::clip_grad>(
      init, init.attributes().get<double>("min"), init.attributes().get<double>("max"));
}

/// An op that makes dx from dy and the input, or the output; it has the attributes of the function.
GradientList from_x(std::string_view op, const Backward& b) {
  return {b.graph().add(op, {b.dy(), b.x()}, b.attributes()).output(0)};
}
GradientList from_y(std::string_view op, const Backward& b) {
  return {b.graph().add(op, {b.dy(), b.y()}, b.attributes()).output(0)};
}
GradientList relu_gradient(const Backward& b) { return from_y("relu_grad", b); }
GradientList relu6_gradient(const Backward& b) { return from_x("relu6_grad", b); }
GradientList leaky_relu_gradient(const Backward& b) { return from_x("leaky_relu_grad", b); }
GradientList elu_gradient(const Backward& b) { return from_y("elu_grad", b); }
GradientList softplus_gradient(const Backward& b) { return from_x("softplus_grad", b); }
GradientList softsign_gradient(const Backward& b) { return from_x("softsign_grad", b); }
GradientList tanh_gradient(const Backward& b) { return from_y("tanh_grad", b); }
GradientList sigmoid_gradient(const Backward& b) { return from_y("sigmoid_grad", b); }
GradientList clip_gradient(const Backward& b) { return from_x("clip_grad", b); }

constexpr OpDef activation(std::string_view name, KernelPtr (*cpu)(const KernelInit&),
                           GradientList (*gradient)(const Backward&)) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = 1,
          .infer = floating_unary_shape,
          .cpu = cpu,
          .gradient = gradient,
          .in_place = true};
}
constexpr OpDef activation_grad(std::string_view name, KernelPtr (*cpu)(const KernelInit&)) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = gradient_shape,
          .cpu = cpu,
          .in_place = true};
}

const OpDef relu_op = floating_unary<fn::Relu, &Elementwise::relu>("relu", relu_gradient);
const OpDef elu_op = floating_unary<fn::Elu, &Elementwise::elu>("elu", elu_gradient);
const OpDef tanh_op = floating_unary<fn::Tanh, &Elementwise::tanh>("tanh", tanh_gradient);
const OpDef sigmoid_op =
    floating_unary<fn::Sigmoid, &Elementwise::sigmoid>("sigmoid", sigmoid_gradient);
const OpDef softplus_op =
    floating_unary<fn::Softplus, &Elementwise::softplus>("softplus", softplus_gradient);
const OpDef softsign_op =
    floating_unary<fn::Softsign, &Elementwise::softsign>("softsign", softsign_gradient);
const OpDef relu6_op = activation("relu6", relu6_cpu, relu6_gradient);
const OpDef leaky_relu_op = activation("leaky_relu", leaky_relu_cpu, leaky_relu_gradient);
const OpDef clip_op{.name = "clip_by_value",
                    .min_inputs = 1,
                    .max_inputs = 1,
                    .infer = clip_shape,
                    .cpu = clip_cpu,
                    .gradient = clip_gradient,
                    .in_place = true};

const OpDef relu_grad_op = gradient_op<fn::ReluGrad, &Elementwise::relu_grad>("relu_grad");
const OpDef relu6_grad_op = gradient_op<fn::Relu6Grad, &Elementwise::relu6_grad>("relu6_grad");
const OpDef elu_grad_op = gradient_op<fn::EluGrad, &Elementwise::elu_grad>("elu_grad");
const OpDef tanh_grad_op = gradient_op<fn::TanhGrad, &Elementwise::tanh_grad>("tanh_grad");
const OpDef sigmoid_grad_op =
    gradient_op<fn::SigmoidGrad, &Elementwise::sigmoid_grad>("sigmoid_grad");
const OpDef softplus_grad_op =
    gradient_op<fn::SoftplusGrad, &Elementwise::softplus_grad>("softplus_grad");
const OpDef softsign_grad_op =
    gradient_op<fn::SoftsignGrad, &Elementwise::softsign_grad>("softsign_grad");
const OpDef leaky_relu_grad_op = activation_grad("leaky_relu_grad", leaky_relu_grad_cpu);
const OpDef clip_grad_op = activation_grad("clip_grad", clip_grad_cpu);

Output unary(std::string_view op, Output x, Attributes attributes = {}) {
  return x.graph().add(op, {x}, std::move(attributes)).output(0);
}

}  // namespace

OpFamily activation_ops() {
  return {&relu_op,          &relu6_op,           &leaky_relu_op, &elu_op,       &tanh_op,
          &sigmoid_op,       &softplus_op,        &softsign_op,   &clip_op,      &relu_grad_op,
          &relu6_grad_op,    &leaky_relu_grad_op, &elu_grad_op,   &tanh_grad_op, &sigmoid_grad_op,
          &softplus_grad_op, &softsign_grad_op,   &clip_grad_op};
}

Output relu(Output x) { return unary("relu", x); }
Output relu6(Output x) { return unary("relu6", x); }
Output leaky_relu(Output x, double alpha) { return unary("leaky_relu", x, {{"alpha", alpha}}); }
Output elu(Output x) { return unary("elu", x); }
Output tanh(Output x) { return unary("tanh", x); }
Output sigmoid(Output x) { return unary("sigmoid", x); }
Output softplus(Output x) { return unary("softplus", x); }
Output softsign(Output x) { return unary("softsign", x); }
Output clip_by_value(Output x, double min, double max) {
  return unary("clip_by_value", x, {{"min", min}, {"max", max}});
}

}  // namespace troupe
