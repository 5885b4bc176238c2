#include "troupe/actors/summary/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

std::vector<double> make_limits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(std::numeric_limits<double>::max());
  std::vector<double> limits;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) limits.push_back(-*limit);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

}  // namespace

const std::vector<double>& Histogram::limits() {
  static const auto limits = make_limits();
  return limits;
}

Histogram::Histogram() : buckets_(limits().size()) {}

void Histogram::add(double value) {
  if (!std::isfinite(value)) {
    ++not_finite_;
    return;
  }
  const auto above = std::ranges::upper_bound(limits(), value) - limits().begin();
  ++buckets_[std::min(static_cast<std::size_t>(above), buckets_.size() - 1)];
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  sum_ += value;
  sum_of_squares_ += value * value;
  ++count_;
}

void Histogram::add(const Tensor& values) {
  if (values.dtype() == DType::bfloat16 || values.dtype() == DType::float16)
    return add(values.cast(DType::float32));
  dispatch_numeric_or_bool(values.dtype(), "histogram", [&]<class T>() {
    for (const T value : values.read<T>()) add(static_cast<double>(value));
  });
}

}  // namespace troupe
