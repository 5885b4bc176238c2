#pragma once

#include <functional>
#include <string>

#include "troupe/actors/images/image_ops.h"
#include "troupe/ops/graph.h"
#include "troupe/ops/random.h"

namespace troupe {

/// One step of what happens to an image between its decoder and the queue: a value,
/// made by a function below or by hand. Steps are put in a row by distort().
struct ImageStep {
  std::string name;  ///< "random_crop(24, 24)", for messages
  /// What it makes of images of a dtype and a shape, where extents may be unknown.
  /// Throws invalid_argument for what it cannot take.
  std::function<TensorSpec(const TensorSpec&)> infer;
  /// Does it. All that is left to chance is drawn from the stream, which belongs to
  /// this step of this image.
  std::function<Tensor(Tensor, RandomStream&)> apply;
};

namespace image {

// Images are [height, width, channels]; each takes uint8 and float32 unless it says so.

/// A rectangle anywhere, each place as likely as the others.
ImageStep random_crop(std::int64_t height, std::int64_t width);
/// The rectangle in the middle.
ImageStep central_crop(std::int64_t height, std::int64_t width);
/// Left and right swapped, for one image in two.
ImageStep random_flip_left_right();
/// float32: one number from [-max_delta, max_delta) is added to all values.
ImageStep random_brightness(double max_delta);
/// float32: contrast times a factor from [lower, upper), around the mean of each channel.
ImageStep random_contrast(double lower, double upper);
/// float32: mean 0 and deviation 1 over all values of the image; the deviation counts
/// as at least 1 / sqrt(values), so that an image of one colour becomes zeros.
ImageStep standardize();
/// Another size; see ResizeOptions. Bilinear makes float32.
ImageStep resize(std::int64_t height, std::int64_t width, const ResizeOptions& options = {});
/// float32 values, times `scale`: 1.0 / 255 for bytes that are to be 0 to 1.
ImageStep to_float(double scale = 1);

}  // namespace image
}  // namespace troupe
