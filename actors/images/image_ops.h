#pragma once

#include <cstdint>

#include "troupe/ops/tensor.h"

// What is done to one image [height, width, channels], uint8 or float32. An image
// that nobody else holds is changed in place.

namespace troupe::image {

/// Rows from `top` and columns from `left`. Throws invalid_argument when the
/// rectangle is not inside the image.
Tensor crop(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height,
            std::int64_t width);

/// The rectangle in the middle; of an odd rest the smaller half is above and left.
Tensor center(const Tensor& image, std::int64_t height, std::int64_t width);

/// Columns in the opposite order.
Tensor mirror(Tensor image);

/// float32 values of any dtype, multiplied by `scale`.
Tensor as_float(const Tensor& image, float scale = 1);

/// float32 x + delta.
Tensor brighten(Tensor image, float delta);

/// float32 (x - mean) * factor + mean, with the mean of each channel.
Tensor stretch(Tensor image, float factor);

/// float32 (x - mean) / max(deviation, 1 / sqrt(n)), over all n values.
Tensor standardize(Tensor image);

enum class Interpolation { bilinear, nearest };

struct ResizeOptions {
  Interpolation interpolation = Interpolation::bilinear;
  /// Pixels are squares with a centre, as in TensorFlow 2 (half_pixel_centers = True),
  /// PyTorch and OpenCV. Without it they are points, as in TensorFlow 1: the result
  /// is shifted by up to half a pixel.
  bool half_pixel_centers = true;
};

/// Another size, without regard to proportions. Bilinear gives float32 with the range
/// of the input and takes the four pixels around a point, also when it makes
/// images smaller; nearest keeps the dtype.
Tensor resize(const Tensor& image, std::int64_t height, std::int64_t width,
              const ResizeOptions& options = {});

}  // namespace troupe::image
