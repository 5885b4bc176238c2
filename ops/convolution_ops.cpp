#include "troupe/ops/autocast.h"
#include "troupe/ops/catalog.h"
#include "troupe/ops/convolution.h"
#include "troupe/ops/convolution_kernels.h"

namespace troupe {

Convolution::Convolution(const Attributes& attributes, const Shape& images, const Shape& filter,
                         bool depthwise)
    : batch(images[0]),
      in(images[3] == Shape::kUnknown ? filter[2] : images[3]),
      out(depthwise ? filter[2] * filter[3] : filter[3]),
      groups(depthwise ? filter[2] : 1) {
  if (filter[2] != in)
    fail(Code::invalid_argument, "the images have shape ", images, " and so ", in,
         " channels, but the filter has shape ", filter, " and takes ", filter[2]);
  const auto both = slides(attributes, images[1], images[2], filter[0], filter[1]);
  rows = both.rows;
  columns = both.columns;
}

double Convolution::cycles() const {
  // About 16 multiply-adds a cycle.
  return static_cast<double>(batch) * static_cast<double>(output_size()) *
         static_cast<double>(rows.window * columns.window * (in / groups)) / 16;
}

namespace {

// The rule of all three passes: what they take are images, or something of the
// shape of the images, and a filter, or something of the shape of the filter.
template <bool kDepthwise>
Convolution convolution_of(const InferContext& c) {
  c.expect_floating(0);
  c.expect_same_dtype(0, 1);
  c.expect_rank(0, 4, "[batch, height, width, channels]");
  c.expect_rank(1, 4,
                kDepthwise ? "[height, width, in channels, multiplier]"
                           : "[height, width, in channels, out channels]");
  if (!c.shape(1).known()) c.fail("the filter has shape ", c.shape(1), ", which must be known");
  for (const auto extent : c.shape(1).extents())
    if (extent < 1) c.fail("the filter has shape ", c.shape(1), ", which has no values");
  return {c.attributes(), c.shape(0), c.shape(1), kDepthwise};
}

template <bool kDepthwise>
Convolution convolution_of(const KernelInit& init) {
  return {init.attributes(), init.inputs[0].shape, init.inputs[1].shape, kDepthwise};
}

template <bool kDepthwise>
void forward_shape(InferContext& c) {
  c.output(c.dtype(0), convolution_of<kDepthwise>(c).output());
}

void fused_shape(InferContext& c) {
  const auto convolution = convolution_of<false>(c);
  c.expect_same_dtype(0, 2);
  if (!compatible(c.shape(2), {convolution.out}))
    c.fail("the bias has shape ", c.shape(2),
           ", but needs one value per output channel: ", Shape{convolution.out});
  const auto& activation = c.attributes().get<std::string>("activation");
  if (activation != "none" && activation != "relu")
    c.fail("activation is '", activation, "', but must be 'none' or 'relu'");
  c.output(c.dtype(0), convolution.output());
}

template <bool kDepthwise, int kOutput>
void gradient_shape(InferContext& c) {
  const auto convolution = convolution_of<kDepthwise>(c);
  c.expect_same_dtype(0, 2);
  if (!compatible(c.shape(2), convolution.output()))
    c.fail("the gradient of the output has shape ", c.shape(2), ", but the output ",
           convolution.output());
  c.output(c.input(kOutput));
}

bool is_double(const KernelInit& init) { return init.dtype() == DType::float64; }

KernelPtr convolution_cpu(const KernelInit& init, const Convolution& c,
                          const ConvolutionEpilogue& epilogue) {
  if (is_double(init)) return plain_convolution(c, epilogue);
  return suits_winograd(c) ? winograd_convolution(init, c, epilogue)
                           : onednn_convolution(init, c, epilogue);
}

template <bool kDepthwise>
KernelPtr forward_cpu(const KernelInit& init) {
  return convolution_cpu(init, convolution_of<kDepthwise>(init), {});
}

KernelPtr fused_cpu(const KernelInit& init) {
  const auto c = convolution_of<false>(init);
  const ConvolutionEpilogue epilogue{
      .bias = true, .relu = init.attributes().get<std::string>("activation") == "relu"};
  return convolution_cpu(init, c, epilogue);
}

template <bool kDepthwise>
KernelPtr input_gradient_cpu(const KernelInit& init) {
  const auto c = convolution_of<kDepthwise>(init);
  if (is_double(init)) return plain_convolution_input_gradient(c);
  return suits_winograd(c) ? winograd_convolution_input_gradient(init, c)
                           : onednn_convolution_input_gradient(init, c);
}

template <bool kDepthwise>
KernelPtr filter_gradient_cpu(const KernelInit& init) {
  const auto c = convolution_of<kDepthwise>(init);
  if (is_double(init)) return plain_convolution_filter_gradient(c);
  return suits_winograd(c) ? winograd_convolution_filter_gradient(init, c)
                           : onednn_convolution_filter_gradient(init, c);
}

template <bool kDepthwise>
GradientList convolution_gradient(const Backward& b) {
  const std::string op = kDepthwise ? "depthwise_conv2d" : "conv2d";
  const OutputList inputs{b.x(0), b.x(1), b.dy()};
  auto& graph = b.graph();
  return {graph.add(op + "_backprop_input", inputs, b.attributes()).output(0),
          graph.add(op + "_backprop_filter", inputs, b.attributes()).output(0)};
}

const OpDef conv2d_op{.name = "conv2d",
                      .min_inputs = 2,
                      .max_inputs = 2,
                      .infer = forward_shape<false>,
                      .cpu = forward_cpu<false>,
                      .gradient = convolution_gradient<false>};
const OpDef fused_conv2d_op{.name = "fused_conv2d",
                            .min_inputs = 3,
                            .max_inputs = 3,
                            .infer = fused_shape,
                            .cpu = fused_cpu};
const OpDef conv2d_backprop_input_op{.name = "conv2d_backprop_input",
                                     .min_inputs = 3,
                                     .max_inputs = 3,
                                     .infer = gradient_shape<false, 0>,
                                     .cpu = input_gradient_cpu<false>,
                                     .shape_only = 1};
const OpDef conv2d_backprop_filter_op{.name = "conv2d_backprop_filter",
                                      .min_inputs = 3,
                                      .max_inputs = 3,
                                      .infer = gradient_shape<false, 1>,
                                      .cpu = filter_gradient_cpu<false>,
                                      .shape_only = 2};
const OpDef depthwise_op{.name = "depthwise_conv2d",
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .infer = forward_shape<true>,
                         .cpu = forward_cpu<true>,
                         .gradient = convolution_gradient<true>};
const OpDef depthwise_backprop_input_op{.name = "depthwise_conv2d_backprop_input",
                                        .min_inputs = 3,
                                        .max_inputs = 3,
                                        .infer = gradient_shape<true, 0>,
                                        .cpu = input_gradient_cpu<true>,
                                        .shape_only = 1};
const OpDef depthwise_backprop_filter_op{.name = "depthwise_conv2d_backprop_filter",
                                         .min_inputs = 3,
                                         .max_inputs = 3,
                                         .infer = gradient_shape<true, 1>,
                                         .cpu = filter_gradient_cpu<true>,
                                         .shape_only = 2};

Output convolve(std::string_view op, const OutputList& inputs, const ConvolutionOptions& options) {
  const auto list = [](const auto& pair) {
    return std::vector<std::int64_t>(pair.begin(), pair.end());
  };
  return inputs[0]
      .graph()
      .add(op, inputs,
           {{"strides", list(options.strides)},
            {"padding", to_string(options.padding)},
            {"dilations", list(options.dilations)}})
      .output(0);
}

}  // namespace

OpFamily convolution_ops() {
  return {&conv2d_op,
          &fused_conv2d_op,
          &conv2d_backprop_input_op,
          &conv2d_backprop_filter_op,
          &depthwise_op,
          &depthwise_backprop_input_op,
          &depthwise_backprop_filter_op};
}

Output conv2d(Output images, Output filter, const ConvolutionOptions& options) {
  return convolve("conv2d", {autocast(images), autocast(filter)}, options);
}

Output depthwise_conv2d(Output images, Output filter, const ConvolutionOptions& options) {
  return convolve("depthwise_conv2d", {autocast(images), autocast(filter)}, options);
}

}  // namespace troupe
