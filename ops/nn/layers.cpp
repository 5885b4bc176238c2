#include "troupe/ops/nn/layers.h"

#include "troupe/ops/convolution.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/random_ops.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe::nn {
namespace {

/// The name that was given, or one after the kind of layer that has no `variable` yet.
std::string layer_name(Graph& graph, const std::string& given, const std::string& kind,
                       const std::string& variable) {
  if (!given.empty()) return given;
  auto name = kind;
  for (int i = 1; graph.find(graph.scoped(text(name, '/', variable))) != nullptr; ++i)
    name = text(kind, '_', i);
  return name;
}

/// The last extent of x, which must have `rank` axes.
std::int64_t channels_of(const Output& x, int rank, const std::string& layer, const char* meaning) {
  const auto& shape = x.shape();
  if (shape.rank() != rank)
    fail(Code::invalid_argument, "layer '", layer, "': the input has shape ", shape, ", but needs ",
         rank, " axes: ", meaning, rank == 2 ? "; use flatten" : "");
  if (shape[-1] == Shape::kUnknown)
    fail(Code::invalid_argument, "layer '", layer, "': the input has shape ", shape,
         ", but its last extent must be known");
  return shape[-1];
}

/// The variable "weights" of the current scope, and its decay if it is new.
Output weights(Graph& graph, const Shape& shape, DType dtype, const Initializer& initializer,
               double l2) {
  const bool is_new = graph.find(graph.scoped("weights")) == nullptr;
  const auto w = variable(graph, "weights", shape, initializer, {.dtype = dtype});
  if (l2 != 0 && is_new) graph.add_regularizer(l2_loss(w) * l2);
  return w;
}

/// What dense and convolutional layers share: biases and an activation.
template <class Options>
Output finish(Output x, std::int64_t channels, const Options& options) {
  if (options.use_bias)
    x = bias_add(x, variable(x.graph(), "biases", {channels}, options.bias_initializer,
                             {.dtype = x.dtype()}));
  return options.activation ? options.activation(x) : x;
}

template <class Options>
ConvolutionOptions convolution_options(const Options& options) {
  return {.strides = options.strides, .padding = options.padding, .dilations = options.dilations};
}

}  // namespace

Output dense(Output x, std::int64_t units, const DenseOptions& options) {
  auto& graph = x.graph();
  const auto name = layer_name(graph, options.name, "dense", "weights");
  const auto features = channels_of(x, 2, name, "[batch, features]");
  const NameScope scope(graph, name);
  const auto w =
      weights(graph, {features, units}, x.dtype(), options.kernel_initializer, options.l2);
  return finish(matmul(x, w), units, options);
}

Output conv2d(Output x, std::int64_t filters, std::array<std::int64_t, 2> kernel,
              const Conv2dOptions& options) {
  auto& graph = x.graph();
  const auto name = layer_name(graph, options.name, "conv2d", "weights");
  const auto channels = channels_of(x, 4, name, "[batch, height, width, channels]");
  const NameScope scope(graph, name);
  const auto w = weights(graph, {kernel[0], kernel[1], channels, filters}, x.dtype(),
                         options.kernel_initializer, options.l2);
  return finish(troupe::conv2d(x, w, convolution_options(options)), filters, options);
}

Output depthwise_conv2d(Output x, std::array<std::int64_t, 2> kernel, const Conv2dOptions& options,
                        std::int64_t multiplier) {
  auto& graph = x.graph();
  const auto name = layer_name(graph, options.name, "depthwise_conv2d", "weights");
  const auto channels = channels_of(x, 4, name, "[batch, height, width, channels]");
  const NameScope scope(graph, name);
  const auto w = weights(graph, {kernel[0], kernel[1], channels, multiplier}, x.dtype(),
                         options.kernel_initializer, options.l2);
  return finish(troupe::depthwise_conv2d(x, w, convolution_options(options)), channels * multiplier,
                options);
}

Output batch_norm(Output x, bool training, const BatchNormOptions& options) {
  auto& graph = x.graph();
  const auto name = layer_name(graph, options.name, "batch_norm", "moving_mean");
  if (x.shape().rank() < 2 || x.shape()[-1] == Shape::kUnknown)
    fail(Code::invalid_argument, "layer '", name, "': the input has shape ", x.shape(),
         ", but needs at least two axes, the last of known extent: [..., channels]");
  const NameScope scope(graph, name);
  const Shape channels{x.shape()[-1]};
  const auto one_each = [&](const char* what, const Initializer& initializer, bool trainable) {
    return variable(graph, what, channels, initializer,
                    {.dtype = x.dtype(), .trainable = trainable});
  };
  const auto fixed = [&](double value) {
    return constant(graph, Tensor::filled(x.dtype(), channels, value));
  };
  const auto beta = options.center ? one_each("beta", init::zeros(), true) : fixed(0);
  const auto gamma = options.scale ? one_each("gamma", init::ones(), true) : fixed(1);
  const auto mean = one_each("moving_mean", init::zeros(), false);
  const auto variance = one_each("moving_variance", init::ones(), false);
  if (!training) return batch_norm_inference(x, gamma, beta, mean, variance, options.epsilon);

  const auto batch = troupe::batch_norm(x, gamma, beta, options.epsilon);
  const auto move = [&](Output average, Output value) {
    graph.add_update(assign_sub(average, (average - value) * (1 - options.momentum)));
  };
  move(mean, batch.mean);
  move(variance, batch.variance);
  return batch.y;
}

Output dropout(Output x, double rate, bool training, const std::string& name) {
  if (!training) return x;
  const NameScope scope(x.graph(), name);
  return troupe::dropout(x, rate);
}

Layer dense(std::int64_t units, const DenseOptions& options) {
  return [=](Output x) { return dense(x, units, options); };
}

Layer conv2d(std::int64_t filters, std::array<std::int64_t, 2> kernel,
             const Conv2dOptions& options) {
  return [=](Output x) { return conv2d(x, filters, kernel, options); };
}

Layer depthwise_conv2d(std::array<std::int64_t, 2> kernel, const Conv2dOptions& options,
                       std::int64_t multiplier) {
  return [=](Output x) { return depthwise_conv2d(x, kernel, options, multiplier); };
}

Layer max_pool(const PoolingOptions& options) {
  return [=](Output x) { return troupe::max_pool(x, options); };
}

Layer avg_pool(const PoolingOptions& options) {
  return [=](Output x) { return troupe::avg_pool(x, options); };
}

Layer batch_norm(bool training, const BatchNormOptions& options) {
  return [=](Output x) { return batch_norm(x, training, options); };
}

Layer dropout(double rate, bool training, const std::string& name) {
  return [=](Output x) { return dropout(x, rate, training, name); };
}

Layer flatten() {
  return [](Output x) { return troupe::flatten(x); };
}

}  // namespace troupe::nn
