#include "troupe/actors/images/image_steps.h"

#include "troupe/ops/error.h"

namespace troupe::image {
namespace {

void expect_size(const std::string& step, std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kMost = 1 << 16;
  if (height < 1 || width < 1 || height > kMost || width > kMost)
    fail(Code::invalid_argument, step, ": a height and a width are 1 to ", kMost);
}

TensorSpec expect_float(const TensorSpec& spec) {
  if (spec.dtype != DType::float32)
    fail(Code::invalid_argument, "needs float32, but the image is ", spec.dtype,
         "; put image::to_float() in front");
  return spec;
}

/// A crop makes known extents, and needs images that are as large.
std::function<TensorSpec(const TensorSpec&)> cropped(std::int64_t height, std::int64_t width) {
  return [=](const TensorSpec& spec) {
    const auto too_small = [](std::int64_t have, std::int64_t want) {
      return have != Shape::kUnknown && have < want;
    };
    if (too_small(spec.shape[0], height) || too_small(spec.shape[1], width))
      fail(Code::invalid_argument, "the image is only ", spec.shape);
    return TensorSpec{spec.dtype, Shape{height, width, spec.shape[2]}};
  };
}

std::int64_t draw_offset(RandomStream& random, std::int64_t have, std::int64_t want) {
  if (have < want) return 0;  // which crop() complains about
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(have - want) + 1));
}

float draw(RandomStream& random, double lower, double upper) {
  return static_cast<float>(lower + (upper - lower) * random.uniform());
}

TensorSpec unchanged(const TensorSpec& spec) { return spec; }

}  // namespace

ImageStep random_crop(std::int64_t height, std::int64_t width) {
  const auto name = text("random_crop(", height, ", ", width, ")");
  expect_size(name, height, width);
  return {name, cropped(height, width), [=](const Tensor& image, RandomStream& random) {
            const auto top = draw_offset(random, image.shape()[0], height);
            return crop(image, top, draw_offset(random, image.shape()[1], width), height, width);
          }};
}

ImageStep central_crop(std::int64_t height, std::int64_t width) {
  const auto name = text("central_crop(", height, ", ", width, ")");
  expect_size(name, height, width);
  return {name, cropped(height, width),
          [=](const Tensor& image, RandomStream&) { return center(image, height, width); }};
}

ImageStep random_flip_left_right() {
  return {"random_flip_left_right()", unchanged, [](Tensor image, RandomStream& random) {
            return random.below(2) == 0 ? image : mirror(std::move(image));
          }};
}

ImageStep random_brightness(double max_delta) {
  const auto name = text("random_brightness(", max_delta, ")");
  if (!(max_delta >= 0)) fail(Code::invalid_argument, name, ": it must be 0 or more");
  return {name, expect_float, [=](Tensor image, RandomStream& random) {
            return brighten(std::move(image), draw(random, -max_delta, max_delta));
          }};
}

ImageStep random_contrast(double lower, double upper) {
  const auto name = text("random_contrast(", lower, ", ", upper, ")");
  if (!(lower >= 0 && lower <= upper))
    fail(Code::invalid_argument, name, ": 0 <= lower <= upper must hold");
  return {name, expect_float, [=](Tensor image, RandomStream& random) {
            return stretch(std::move(image), draw(random, lower, upper));
          }};
}

ImageStep standardize() {
  return {"standardize()", expect_float,
          [](Tensor image, RandomStream&) { return standardize(std::move(image)); }};
}

ImageStep resize(std::int64_t height, std::int64_t width, const ResizeOptions& options) {
  const auto name = text("resize(", height, ", ", width, ")");
  expect_size(name, height, width);
  const bool blend = options.interpolation == Interpolation::bilinear;
  return {
      name,
      [=](const TensorSpec& spec) {
        return TensorSpec{blend ? DType::float32 : spec.dtype, Shape{height, width, spec.shape[2]}};
      },
      [=](const Tensor& image, RandomStream&) { return resize(image, height, width, options); }};
}

ImageStep to_float(double scale) {
  return {text("to_float(", scale, ")"),
          [](const TensorSpec& spec) {
            return TensorSpec{DType::float32, spec.shape};
          },
          [=](const Tensor& image, RandomStream&) {
            return as_float(image, static_cast<float>(scale));
          }};
}

}  // namespace troupe::image
