#pragma once

#include <cstdint>
#include <vector>

#include "troupe/ops/tensor.h"

namespace troupe {

/// How values are distributed, in the buckets that TensorBoard knows from
/// TensorFlow (core/lib/histogram): their limits grow by a tenth from 1e-12 to
/// 1e20, on both sides of zero. Values that are not finite are counted apart:
/// a histogram of a diverging run shows the rest.
class Histogram {
 public:
  Histogram();

  void add(double value);
  /// Every value of a tensor of any numeric dtype.
  void add(const Tensor& values);

  std::int64_t count() const { return count_; }  ///< of finite values
  std::int64_t not_finite() const { return not_finite_; }
  double min() const { return min_; }  ///< 0 when there are no values
  double max() const { return max_; }
  double sum() const { return sum_; }
  double sum_of_squares() const { return sum_of_squares_; }

  /// Bucket i counts the values in [limits()[i - 1], limits()[i]).
  static const std::vector<double>& limits();
  const std::vector<std::int64_t>& buckets() const { return buckets_; }

 private:
  std::int64_t count_ = 0;
  std::int64_t not_finite_ = 0;
  double min_ = 0;
  double max_ = 0;
  double sum_ = 0;
  double sum_of_squares_ = 0;
  std::vector<std::int64_t> buckets_;
};

}  // namespace troupe
