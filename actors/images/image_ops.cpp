#include "troupe/actors/images/image_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/error.h"

namespace troupe::image {
namespace {

void expect_image(const Tensor& image) {
  if (image.shape().rank() != 3 || image.size() == 0)
    fail(Code::invalid_argument, "an image has a shape [height, width, channels], not ",
         image.shape());
}

/// The sum of f(x) over all values, in lanes that a vector unit can add side by side.
template <class Function>
double sum(std::span<const float> values, Function f) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += f(values[i + lane]);
  for (; i < values.size(); ++i) sums[0] += f(values[i]);
  double all = 0;
  for (const double part : sums) all += part;
  return all;
}

/// Where the values of one output row or column come from.
struct Source {
  std::int64_t low = 0;
  std::int64_t high = 0;
  float part = 0;  // of the high one
};

std::vector<Source> sources(std::int64_t from, std::int64_t to, const ResizeOptions& options) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  const float shift = options.half_pixel_centers ? 0.5f : 0;
  const bool nearest = options.interpolation == Interpolation::nearest;
  std::vector<Source> all(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const float at = (static_cast<float>(i) + shift) * scale - (nearest ? 0 : shift);
    const float floor = std::floor(at);
    auto& source = all[static_cast<std::size_t>(i)];
    source.low = std::clamp<std::int64_t>(static_cast<std::int64_t>(floor), 0, from - 1);
    source.high = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(at)), 0, from - 1);
    source.part = at - floor;
  }
  return all;
}

template <class T>
void bilinear(const Tensor& image, const std::vector<Source>& rows,
              const std::vector<Source>& columns, Tensor& out) {
  const auto* from = image.read<T>().data();
  auto* to = out.write<float>().data();
  const auto channels = image.shape()[2];
  const auto stride = image.shape()[1] * channels;
  for (const auto& y : rows) {
    const auto* upper = from + y.low * stride;
    const auto* lower = from + y.high * stride;
    for (const auto& x : columns)
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto left = x.low * channels + c;
        const auto right = x.high * channels + c;
        const float above =
            static_cast<float>(upper[left]) +
            (static_cast<float>(upper[right]) - static_cast<float>(upper[left])) * x.part;
        const float below =
            static_cast<float>(lower[left]) +
            (static_cast<float>(lower[right]) - static_cast<float>(lower[left])) * x.part;
        *to++ = above + (below - above) * y.part;
      }
  }
}

void nearest(const Tensor& image, const std::vector<Source>& rows,
             const std::vector<Source>& columns, Tensor& out) {
  const auto pixel = static_cast<std::size_t>(image.shape()[2]) * size_of(image.dtype());
  const auto stride = static_cast<std::size_t>(image.shape()[1]) * pixel;
  auto* to = out.mutable_data();
  for (const auto& y : rows)
    for (const auto& x : columns) {
      std::memcpy(to,
                  image.data() + static_cast<std::size_t>(y.low) * stride +
                      static_cast<std::size_t>(x.low) * pixel,
                  pixel);
      to += pixel;
    }
}

}  // namespace

Tensor crop(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height,
            std::int64_t width) {
  expect_image(image);
  const auto& shape = image.shape();
  if (top < 0 || left < 0 || height < 1 || width < 1 || top > shape[0] - height ||
      left > shape[1] - width)
    fail(Code::invalid_argument, "the image is ", shape, ": it has no ", height, " x ", width,
         " pixels from row ", top, " and column ", left);
  auto out = Tensor::uninitialized(image.dtype(), {height, width, shape[2]});
  const auto pixel = static_cast<std::size_t>(shape[2]) * size_of(image.dtype());
  const auto bytes = static_cast<std::size_t>(width) * pixel;
  const auto stride = static_cast<std::size_t>(shape[1]) * pixel;
  const auto* from = image.data() + static_cast<std::size_t>(top) * stride +
                     static_cast<std::size_t>(left) * pixel;
  auto* to = out.mutable_data();
  for (std::int64_t y = 0; y < height; ++y, from += stride, to += bytes)
    std::memcpy(to, from, bytes);
  return out;
}

Tensor center(const Tensor& image, std::int64_t height, std::int64_t width) {
  expect_image(image);
  const auto& shape = image.shape();
  return crop(image, std::max<std::int64_t>(0, shape[0] - height) / 2,
              std::max<std::int64_t>(0, shape[1] - width) / 2, height, width);
}

Tensor mirror(Tensor image) {
  expect_image(image);
  const auto width = image.shape()[1];
  const auto channels = image.shape()[2];
  dispatch_numeric(image.dtype(), "mirror", [&]<class T>() {
    auto* row = image.write<T>().data();
    for (std::int64_t y = 0; y < image.shape()[0]; ++y, row += width * channels)
      for (std::int64_t left = 0, right = width - 1; left < right; ++left, --right)
        std::swap_ranges(row + left * channels, row + (left + 1) * channels,
                         row + right * channels);
  });
  return image;
}

Tensor as_float(const Tensor& image, float scale) {
  auto out = Tensor::uninitialized(DType::float32, image.shape());
  dispatch_numeric(image.dtype(), "as_float", [&]<class T>() {
    std::ranges::transform(image.read<T>(), out.write<float>().begin(),
                           [scale](T value) { return static_cast<float>(value) * scale; });
  });
  return out;
}

Tensor brighten(Tensor image, float delta) {
  for (auto& value : image.write<float>()) value += delta;
  return image;
}

Tensor stretch(Tensor image, float factor) {
  expect_image(image);
  const auto values = image.write<float>();
  const auto channels = static_cast<std::size_t>(image.shape()[2]);
  const auto pixels = values.size() / channels;
  std::vector<double> sums(channels);
  for (std::size_t p = 0; p < pixels; ++p)
    for (std::size_t c = 0; c < channels; ++c) sums[c] += values[p * channels + c];
  std::vector<float> means(channels);
  for (std::size_t c = 0; c < channels; ++c)
    means[c] = static_cast<float>(sums[c] / static_cast<double>(pixels));
  for (std::size_t p = 0; p < pixels; ++p)
    for (std::size_t c = 0; c < channels; ++c) {
      auto& value = values[p * channels + c];
      value = (value - means[c]) * factor + means[c];
    }
  return image;
}

Tensor standardize(Tensor image) {
  expect_image(image);
  const auto values = image.write<float>();
  const auto count = static_cast<double>(values.size());
  const double mean = sum(values, [](float x) { return static_cast<double>(x); }) / count;
  const double variance = sum(values, [mean](float x) { return (x - mean) * (x - mean); }) / count;
  const auto center = static_cast<float>(mean);
  const auto factor = static_cast<float>(1 / std::max(std::sqrt(variance), 1 / std::sqrt(count)));
  for (auto& value : values) value = (value - center) * factor;
  return image;
}

Tensor resize(const Tensor& image, std::int64_t height, std::int64_t width,
              const ResizeOptions& options) {
  expect_image(image);
  const bool blend = options.interpolation == Interpolation::bilinear;
  auto out = Tensor::uninitialized(blend ? DType::float32 : image.dtype(),
                                   {height, width, image.shape()[2]});
  const auto rows = sources(image.shape()[0], height, options);
  const auto columns = sources(image.shape()[1], width, options);
  if (!blend)
    nearest(image, rows, columns, out);
  else
    dispatch_numeric(image.dtype(), "resize",
                     [&]<class T>() { bilinear<T>(image, rows, columns, out); });
  return out;
}

}  // namespace troupe::image
