#pragma once

#include "troupe/ops/kernel.h"
#include "troupe/ops/window.h"

namespace troupe {

/// The sizes of one convolution; of a depthwise one, groups is the number of
/// input channels. Unknown extents are -1.
struct Convolution {
  /// Throws invalid_argument when the filter does not fit the images.
  Convolution(const Attributes& attributes, const Shape& images, const Shape& filter,
              bool depthwise);

  std::int64_t batch;
  std::int64_t in;   ///< channels
  std::int64_t out;  ///< channels
  std::int64_t groups;
  Slide rows;
  Slide columns;

  Shape output() const { return {batch, rows.output, columns.output, out}; }
  std::int64_t input_size() const { return rows.input * columns.input * in; }  ///< of one image
  std::int64_t output_size() const { return rows.output * columns.output * out; }
  std::int64_t filter_size() const { return rows.window * columns.window * in / groups * out; }
  /// About how long it takes, in CPU cycles.
  double cycles() const;
};

/// What follows the convolution while its result is in the cache.
struct ConvolutionEpilogue {
  bool bias = false;  ///< input 2: one value per output channel
  bool relu = false;
};

// float32, by oneDNN. The batch is shared out between the threads of the device.
KernelPtr onednn_convolution(const KernelInit& init, const Convolution& convolution,
                             const ConvolutionEpilogue& epilogue);
KernelPtr onednn_convolution_input_gradient(const KernelInit& init, const Convolution& convolution);
KernelPtr onednn_convolution_filter_gradient(const KernelInit& init,
                                             const Convolution& convolution);

// float32, by our own kernels (simd/winograd.h) with fewer multiplications, for
// windows of 3x3 and 5x5 that suit them. They have no rounding errors to speak of
// beyond those of the others, but other ones.

/// Whether these kernels can do it and are faster than oneDNN's: they take 0.4 to 0.8
/// of its time for 32 to 256 channels, but longer for 16 or 512, and where the images
/// are so few and small that evaluating the filter is most of the work.
bool suits_winograd(const Convolution& convolution);
KernelPtr winograd_convolution(const KernelInit& init, const Convolution& convolution,
                               const ConvolutionEpilogue& epilogue);
KernelPtr winograd_convolution_input_gradient(const KernelInit& init,
                                              const Convolution& convolution);
KernelPtr winograd_convolution_filter_gradient(const KernelInit& init,
                                               const Convolution& convolution);

// float64, by plain loops: for checking gradients, not for speed.
KernelPtr plain_convolution(const Convolution& convolution, const ConvolutionEpilogue& epilogue);
KernelPtr plain_convolution_input_gradient(const Convolution& convolution);
KernelPtr plain_convolution_filter_gradient(const Convolution& convolution);

}  // namespace troupe
