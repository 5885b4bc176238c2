#pragma once

#include "troupe/ops/graph.h"

namespace troupe {

/// x [..., channels] plus one value per channel.
Output bias_add(Output x, Output bias);

struct LrnOptions {
  std::int64_t depth_radius = 5;  ///< channels on either side that count
  double bias = 1;
  double alpha =
      1;  ///< factor of each square, as tf.nn.lrn (PyTorch and oneDNN divide it by the window)
  double beta = 0.5;
};

/// Local response normalisation over the channels of images [batch, height,
/// width, channels] (Krizhevsky, Sutskever, Hinton 2012, section 3.3):
/// x / (bias + alpha * sum of the squares around it)^beta. Defaults as tf.nn.lrn.
Output lrn(Output images, const LrnOptions& options = {});

/// What normalises a batch by its own statistics.
struct BatchNorm {
  Output y;         ///< (x - mean) / sqrt(variance + epsilon) * scale + offset
  Output mean;      ///< [channels]
  Output variance;  ///< [channels], of the batch: divided by the count, not by count - 1
};

/// Ioffe and Szegedy 2015, over all axes but the last; scale and offset are
/// [channels]. The gradient flows through y, not through mean and variance.
BatchNorm batch_norm(Output x, Output scale, Output offset, double epsilon = 1e-3);

/// The same with given statistics, all inputs but x [channels].
Output batch_norm_inference(Output x, Output scale, Output offset, Output mean, Output variance,
                            double epsilon = 1e-3);

/// exp(x) / sum of exp(x) over the last axis, and the logarithm of that.
Output softmax(Output x);
Output log_softmax(Output x);

}  // namespace troupe
