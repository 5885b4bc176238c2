#pragma once

#include <array>
#include <functional>
#include <string>

#include "troupe/ops/array.h"
#include "troupe/ops/graph.h"
#include "troupe/ops/initializers.h"
#include "troupe/ops/pooling.h"

// Layers: ops together with the variables that they learn. A layer called conv1
// has the variables conv1/weights and conv1/biases; without a name it is called
// after its kind (dense, dense_1, ...). Two layers of one graph that are given
// the same name share their variables, so that a model can be built twice.
//
// Images are [batch, height, width, channels]; what is between braces has the
// defaults below:
//
//   auto x = nn::conv2d(images, 32, {5, 5}, {.name = "conv1", .activation = relu});
//   x = flatten(max_pool(x));
//   x = nn::dense(x, 10, {.name = "logits", .l2 = 0.004});

namespace troupe::nn {

/// What follows a layer: relu, tanh, or any other function of one output; none by default.
using Activation = std::function<Output(Output)>;

struct DenseOptions {
  std::string name = {};
  Activation activation = {};
  Initializer kernel_initializer = init::xavier_uniform();
  Initializer bias_initializer = init::zeros();
  bool use_bias = true;
  double l2 = 0;  ///< weight decay: adds l2 * l2_loss(weights) to the graph's regularizers
};

/// activation(x weights + biases): x [batch, features] to [batch, units], with
/// weights [features, units]. Throws invalid_argument, naming the layer, when x
/// has another rank or the number of features is not known.
Output dense(Output x, std::int64_t units, const DenseOptions& options = {});

struct Conv2dOptions {
  std::string name = {};
  std::array<std::int64_t, 2> strides{1, 1};
  Padding padding = Padding::valid;
  std::array<std::int64_t, 2> dilations{1, 1};
  Activation activation = {};
  Initializer kernel_initializer = init::xavier_uniform();
  Initializer bias_initializer = init::zeros();
  bool use_bias = true;
  double l2 = 0;  ///< as DenseOptions::l2
};

/// activation(conv2d(x, weights) + biases), with weights [kernel height, kernel
/// width, channels, filters].
Output conv2d(Output x, std::int64_t filters, std::array<std::int64_t, 2> kernel,
              const Conv2dOptions& options = {});

/// The same for each channel by itself, `multiplier` filters for each, with
/// weights [kernel height, kernel width, channels, multiplier].
Output depthwise_conv2d(Output x, std::array<std::int64_t, 2> kernel,
                        const Conv2dOptions& options = {}, std::int64_t multiplier = 1);

struct BatchNormOptions {
  std::string name = {};
  double momentum = 0.99;  ///< of the moving averages: the part of them that stays
  double epsilon = 1e-3;   ///< keeps the root of a variance of zero away from zero
  bool scale = true;       ///< whether gamma is learned
  bool center = true;      ///< whether beta is learned
};

/// Normalises each channel of x [..., channels] (Ioffe and Szegedy 2015), by the
/// statistics of the batch in training, and by moving averages of them otherwise.
/// Variables: beta, gamma, moving_mean and moving_variance, of which the
/// last two are not trainable: in training the graph gets updates that move them.
Output batch_norm(Output x, bool training, const BatchNormOptions& options = {});

/// In training drops values with probability `rate`; otherwise x itself.
Output dropout(Output x, double rate, bool training, const std::string& name = "dropout");

/// What makes one output from another: a layer that only waits for its input.
using Layer = std::function<Output(Output)>;

// The same layers without their input, for Sequential.
Layer dense(std::int64_t units, const DenseOptions& options = {});
Layer conv2d(std::int64_t filters, std::array<std::int64_t, 2> kernel,
             const Conv2dOptions& options = {});
Layer depthwise_conv2d(std::array<std::int64_t, 2> kernel, const Conv2dOptions& options = {},
                       std::int64_t multiplier = 1);
Layer max_pool(const PoolingOptions& options = {});
Layer avg_pool(const PoolingOptions& options = {});
Layer batch_norm(bool training, const BatchNormOptions& options = {});
Layer dropout(double rate, bool training, const std::string& name = "dropout");
Layer flatten();

/// Layers that are applied one after the other:
///
///   const nn::Sequential model{nn::flatten(),
///                              nn::dense(128, {.activation = relu}),
///                              nn::dropout(0.5, training),
///                              nn::dense(10)};
///   const auto logits = model(images);
class Sequential {
 public:
  Sequential(std::initializer_list<Layer> layers) : layers_(layers) {}
  Sequential& add(Layer layer) {
    layers_.push_back(std::move(layer));
    return *this;
  }
  Output operator()(Output x) const {
    for (const auto& layer : layers_) x = layer(x);
    return x;
  }

 private:
  std::vector<Layer> layers_;
};

}  // namespace troupe::nn
