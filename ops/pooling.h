#pragma once

#include <array>

#include "troupe/ops/graph.h"
#include "troupe/ops/window.h"

namespace troupe {

struct PoolingOptions {
  std::array<std::int64_t, 2> window{2, 2};   ///< height and width
  std::array<std::int64_t, 2> strides{2, 2};  ///< along the height and along the width
  Padding padding = Padding::valid;
};

/// The greatest value under a window that slides over images [batch, height,
/// width, channels], for each channel. What is padded does not count; a NaN
/// does: it is the result. The gradient goes to the first of equal values, row
/// by row.
Output max_pool(Output images, const PoolingOptions& options = {});

/// The mean of the values under the window. What is padded does not count: at
/// the edge the mean is that of fewer values, as in TensorFlow.
Output avg_pool(Output images, const PoolingOptions& options = {});

}  // namespace troupe
