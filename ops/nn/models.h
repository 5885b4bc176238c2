#pragma once

#include "troupe/ops/graph.h"

// Models that the examples, the tests and the benchmarks share. Each builds its
// layers, with their weight decay, on top of the inputs and returns the last one;
// nn::total_loss adds the decay to a loss. `training` turns dropout on.

namespace troupe::nn {

/// The CNN of the headline program: images [batch, 20, 195, 1] to 15 numbers,
/// for nn::root_mean_squared_error. Convolution [3, 30, 1, 5] with stride [1, 5],
/// ReLU, max-pool; convolution [2, 2, 5, 5], ReLU, max-pool; dropout; 20 units,
/// ReLU; 15 units. Weight decay 0.001 for the convolutions and 0.004 after them.
Output headline_cnn(Output images, bool training, double dropout_rate = 0.5);

/// Images [batch, 28, 28, 1] to the logits of 10 classes: convolutions 5x5 to 32
/// and 64 channels, each with ReLU and max-pool; 1024 units, ReLU; dropout; 10 units.
Output lenet(Output images, bool training, double dropout_rate = 0.5);

/// The CNN of TensorFlow's CIFAR-10 tutorial: images [batch, height, width, 3]
/// (24 by 24 in the tutorial) to the logits of 10 classes. Two convolutions 5x5
/// of 64 channels with ReLU, max-pool 3x3 by 2 and local response normalisation;
/// 384 and 192 units with ReLU and weight decay 0.004; 10 units.
Output cifar10_cnn(Output images);

/// Rows [batch, features] to logits: two layers of `hidden` units with ReLU, and
/// one of `classes`.
Output mlp(Output rows, std::int64_t hidden = 2048, std::int64_t classes = 10);

}  // namespace troupe::nn
