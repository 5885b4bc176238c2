#pragma once

#include <array>

#include "troupe/ops/graph.h"
#include "troupe/ops/window.h"

namespace troupe {

struct ConvolutionOptions {
  std::array<std::int64_t, 2> strides{1, 1};  ///< along the height and along the width
  Padding padding = Padding::valid;
  std::array<std::int64_t, 2> dilations{1, 1};  ///< distance of the filter's values in the image
};

/// Images [batch, height, width, in] and a filter [height, width, in, out] to
/// [batch, height', width', out]: at each place the sum of the image under the
/// filter times the filter (a correlation, as TensorFlow's conv2d). float32 and
/// float64. The result does not depend on the number of threads.
Output conv2d(Output images, Output filter, const ConvolutionOptions& options = {});

/// Each channel for itself: images [batch, height, width, in] and a filter
/// [height, width, in, multiplier] to [batch, height', width', in * multiplier];
/// channel c gives the outputs c * multiplier and following.
Output depthwise_conv2d(Output images, Output filter, const ConvolutionOptions& options = {});

}  // namespace troupe
