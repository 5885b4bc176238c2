#pragma once

#include <cstdint>
#include <string>

#include "troupe/ops/tensor.h"

namespace troupe {

/// How a variable starts. A description, not a value: it is kept in the graph
/// and evaluated where the variable lives.
struct Initializer {
  std::string kind = "zeros";
  double a = 0;
  double b = 0;
  Tensor value;  ///< for kind "value"
};

namespace init {

Initializer zeros();
Initializer ones();
Initializer constant(double value);
/// These values; the shape must be the variable's.
Initializer value(Tensor value);
Initializer uniform(double low, double high);
Initializer normal(double mean, double stddev);
/// Normal, drawn again while further than two standard deviations from the mean.
Initializer truncated_normal(double mean, double stddev);

/// Glorot and Bengio 2010: uniform in +-sqrt(6 / (fan_in + fan_out)), or normal
/// with variance 2 / (fan_in + fan_out), truncated as TensorFlow 1's
/// xavier_initializer(uniform=False) does: truncated_normal of stddev
/// sqrt(1.3 * 2 / (fan_in + fan_out)).
Initializer xavier_uniform();
Initializer xavier_normal();
/// He et al. 2015: variance 2 / fan_in; uniform in +-sqrt(6 / fan_in), or
/// truncated_normal of stddev sqrt(1.3 * 2 / fan_in).
Initializer he_uniform();
Initializer he_normal();

}  // namespace init

/// The values. `seed` is the run's, `name` the variable's: the result depends on
/// nothing else. fan_in and fan_out of a shape [.., in, out] are in and out
/// times the product of the leading extents (the filter's window).
/// Throws invalid_argument for an unknown kind or values of another shape.
Tensor evaluate(const Initializer& initializer, DType dtype, const Shape& shape,
                std::string_view name, std::uint64_t seed);

}  // namespace troupe
