#include "troupe/ops/nn/models.h"

#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/normalization.h"

namespace troupe::nn {

Output headline_cnn(Output images, bool training, double dropout_rate) {
  const auto xavier = init::xavier_normal();
  auto x = conv2d(images, 5, {3, 30},
                  {.name = "conv1",
                   .strides = {1, 5},
                   .activation = relu,
                   .kernel_initializer = xavier,
                   .l2 = 0.001});
  x = troupe::max_pool(x);
  x = conv2d(x, 5, {2, 2},
             {.name = "conv2",
              .activation = relu,
              .kernel_initializer = xavier,
              .bias_initializer = init::constant(0.1),
              .l2 = 0.001});
  x = troupe::max_pool(x);
  x = troupe::flatten(dropout(x, dropout_rate, training));
  x = dense(
      x, 20,
      {.name = "fully_connected", .activation = relu, .kernel_initializer = xavier, .l2 = 0.004});
  return dense(x, 15, {.name = "identity", .kernel_initializer = xavier, .l2 = 0.004});
}

Output lenet(Output images, bool training, double dropout_rate) {
  auto x =
      conv2d(images, 32, {5, 5}, {.name = "conv1", .padding = Padding::same, .activation = relu});
  x = troupe::max_pool(x);
  x = conv2d(x, 64, {5, 5}, {.name = "conv2", .padding = Padding::same, .activation = relu});
  x = troupe::flatten(troupe::max_pool(x));
  x = dense(x, 1024, {.name = "fc1", .activation = relu});
  return dense(dropout(x, dropout_rate, training), 10, {.name = "fc2"});
}

Output cifar10_cnn(Output images) {
  const auto convolution = [](Output x, const char* name, double bias) {
    return conv2d(x, 64, {5, 5},
                  {.name = name,
                   .padding = Padding::same,
                   .activation = relu,
                   .kernel_initializer = init::truncated_normal(0, 0.05),
                   .bias_initializer = init::constant(bias)});
  };
  const auto pool = [](Output x) {
    return troupe::max_pool(x, {.window = {3, 3}, .strides = {2, 2}, .padding = Padding::same});
  };
  const auto normalize = [](Output x) {
    return lrn(x, {.depth_radius = 4, .bias = 1, .alpha = 0.001 / 9, .beta = 0.75});
  };
  const auto hidden = [](Output x, const char* name, std::int64_t units) {
    return dense(x, units,
                 {.name = name,
                  .activation = relu,
                  .kernel_initializer = init::truncated_normal(0, 0.04),
                  .bias_initializer = init::constant(0.1),
                  .l2 = 0.004});
  };
  auto x = normalize(pool(convolution(images, "conv1", 0)));
  x = pool(normalize(convolution(x, "conv2", 0.1)));
  x = hidden(troupe::flatten(x), "local3", 384);
  x = hidden(x, "local4", 192);
  return dense(
      x, 10,
      {.name = "softmax_linear", .kernel_initializer = init::truncated_normal(0, 1.0 / 192)});
}

Output mlp(Output rows, std::int64_t hidden, std::int64_t classes) {
  const auto he = init::he_normal();
  auto x = dense(rows, hidden, {.name = "fc1", .activation = relu, .kernel_initializer = he});
  x = dense(x, hidden, {.name = "fc2", .activation = relu, .kernel_initializer = he});
  return dense(x, classes, {.name = "fc3"});
}

}  // namespace troupe::nn
