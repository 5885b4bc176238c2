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
///
/// float32 with a window of 3 x 3 or 5 x 5, a stride of 1 and 32 to 256 channels on
/// either side (multiples of 16) is convolved by Winograd's minimal filtering, in both
/// directions: other rounding errors, of about the same size, and an infinity or NaN
/// in an image may show in up to 3 places beside those that the filter covers it from.
Output conv2d(Output images, Output filter, const ConvolutionOptions& options = {});

/// Each channel for itself: images [batch, height, width, in] and a filter
/// [height, width, in, multiplier] to [batch, height', width', in * multiplier];
/// channel c gives the outputs c * multiplier and following.
Output depthwise_conv2d(Output images, Output filter, const ConvolutionOptions& options = {});

}  // namespace troupe
