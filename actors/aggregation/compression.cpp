#include "troupe/actors/aggregation/compression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

/// What is finite stays finite: infinities are no numbers that were too large.
Tensor in_float16(const Tensor& gradient) {
  constexpr std::uint16_t kSign = 0x8000, kInfinity = 0x7c00, kLargest = 0x7bff;  // 65504
  auto half = gradient.cast(DType::float16);
  dispatch_floating(gradient.dtype(), "gradient", [&]<class T>() {
    const auto from = gradient.read<T>();
    auto to = half.write<float16>();
    for (std::size_t i = 0; i < from.size(); ++i)
      if ((to[i].bits & ~kSign) == kInfinity && !std::isinf(static_cast<float>(from[i])))
        to[i].bits = static_cast<std::uint16_t>((to[i].bits & kSign) | kLargest);
  });
  return half;
}

/// The places of the `count` values that are farthest from zero, ascending; of equal
/// values the first. One that is not finite is farther than any other.
template <class T>
std::vector<std::int64_t> largest_places(std::span<const T> values, std::size_t count) {
  const auto size = [&](std::int64_t i) {
    const auto x = std::abs(values[static_cast<std::size_t>(i)]);
    return std::isfinite(x) ? x : std::numeric_limits<T>::infinity();
  };
  std::vector<std::int64_t> places(values.size());
  std::iota(places.begin(), places.end(), 0);
  const auto last = places.begin() + static_cast<std::ptrdiff_t>(count);
  if (last != places.end())
    std::nth_element(places.begin(), last, places.end(), [&](std::int64_t a, std::int64_t b) {
      const auto x = size(a), y = size(b);
      return x != y ? x > y : a < b;
    });
  places.erase(last, places.end());
  std::sort(places.begin(), places.end());
  return places;
}

Tensor places_tensor(const std::vector<std::int64_t>& places, std::int64_t size) {
  const auto count = static_cast<std::int64_t>(places.size());
  if (size > std::numeric_limits<std::int32_t>::max())
    return Tensor::of<std::int64_t>({count}, places);
  auto small = Tensor::uninitialized(DType::int32, {count});
  std::copy(places.begin(), places.end(), small.write<std::int32_t>().begin());
  return small;
}

}  // namespace

GradientCompression GradientCompression::parse(std::string_view words) {
  if (words == "none") return {};
  if (words == "bfloat16") return {CompressionKind::bfloat16};
  if (words == "float16") return {CompressionKind::float16};
  constexpr std::string_view kTopK = "topk:";
  if (words.starts_with(kTopK)) {
    const auto number = words.substr(kTopK.size());
    double keep = 0;
    const auto [end, error] = std::from_chars(number.begin(), number.end(), keep);
    if (error == std::errc() && end == number.end() && keep > 0 && keep <= 1)
      return {CompressionKind::top_k, keep};
    fail(Code::invalid_argument, "compression '", words,
         "': the part of the values to be kept is a number in (0, 1], as in topk:0.01");
  }
  fail(Code::invalid_argument, "there is no compression '", words,
       "': choose none, bfloat16, float16 or topk:PART, for example topk:0.01");
}

std::string to_string(const GradientCompression& compression) {
  switch (compression.kind) {
    case CompressionKind::none:
      return "none";
    case CompressionKind::bfloat16:
      return "bfloat16";
    case CompressionKind::float16:
      return "float16";
    case CompressionKind::top_k:
      return text("topk:", compression.keep);
  }
  return "?";
}

GradientCompressor::GradientCompressor(GradientCompression compression)
    : compression_(compression) {
  if (compression.kind == CompressionKind::top_k &&
      !(compression.keep > 0 && compression.keep <= 1))
    fail(Code::invalid_argument, "topk keeps a part of the values in (0, 1], not ",
         compression.keep);
}

CompressedGradient GradientCompressor::compress(const std::string& part, const Tensor& gradient) {
  switch (compression_.kind) {
    case CompressionKind::none:
      return {gradient, {}};
    case CompressionKind::bfloat16:
      return {gradient.cast(DType::bfloat16), {}};
    case CompressionKind::float16:
      return {in_float16(gradient), {}};
    case CompressionKind::top_k:
      return largest(part, gradient);
  }
  return {};
}

CompressedGradient GradientCompressor::largest(const std::string& part, const Tensor& gradient) {
  const auto size = gradient.size();
  if (size == 0) return {gradient, {}};
  const auto count = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::ceil(compression_.keep * static_cast<double>(size))), 1, size);
  CompressedGradient sent;
  dispatch_floating(gradient.dtype(), "gradient", [&]<class T>() {
    auto all = gradient.clone();
    auto values = all.write<T>();
    const auto left = left_.find(part);
    if (left != left_.end() && left->second.size() == size) {
      const auto before = left->second.read<T>();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += before[i];
    }
    const auto places = largest_places<T>(values, static_cast<std::size_t>(count));
    sent.values = Tensor::uninitialized(gradient.dtype(), {count});
    auto out = sent.values.write<T>();
    for (std::size_t i = 0; i < places.size(); ++i)
      out[i] = std::exchange(values[static_cast<std::size_t>(places[i])], T{0});
    // What is not finite must not come back in later gradients.
    for (auto& value : values)
      if (!std::isfinite(value)) value = 0;
    sent.positions = places_tensor(places, size);
    next_[part] = std::move(all);
  });
  return sent;
}

void GradientCompressor::settle(bool applied) {
  if (applied)
    for (auto& [part, left] : next_) left_[part] = std::move(left);
  next_.clear();
}

std::map<std::string, Tensor> GradientCompressor::owed_when_applied() const {
  auto owed = left_;
  for (const auto& [part, left] : next_) owed[part] = left;
  return owed;
}

Tensor decompressed(const CompressedGradient& gradient, DType type, const Shape& shape) {
  const auto& values = gradient.values;
  const bool all = gradient.positions.size() == 0;
  if (all && !(values.shape() == shape))
    fail(Code::invalid_argument, "a compressed gradient of shape ", values.shape(),
         " is not one of ", shape);
  if (all && (values.dtype() == DType::bfloat16 || values.dtype() == DType::float16))
    return values.cast(type);
  if (values.dtype() != type)
    fail(Code::invalid_argument, "a compressed gradient of ", type, " cannot be ", values.dtype());
  if (all) return values;
  const auto& places = gradient.positions;
  if (values.size() != places.size() ||
      (places.dtype() != DType::int32 && places.dtype() != DType::int64))
    fail(Code::invalid_argument, values.size(), " values of a compressed gradient came with ",
         places.size(), " places of ", places.dtype());
  Tensor dense(type, shape);
  dispatch_floating(type, "gradient", [&]<class T>() {
    const auto from = values.read<T>();
    auto to = dense.write<T>();
    for (std::int64_t i = 0; i < places.size(); ++i) {
      const auto place = places.at(i);
      if (!(place >= 0 && place < static_cast<double>(to.size())))
        fail(Code::invalid_argument, "a compressed gradient has a value at place ", place,
             ", but there are ", to.size());
      to[static_cast<std::size_t>(place)] = from[static_cast<std::size_t>(i)];
    }
  });
  return dense;
}

}  // namespace troupe
