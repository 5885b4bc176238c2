#pragma once

#include <optional>

#include "troupe/ops/graph.h"

namespace troupe {

/// x with every value rounded to the nearest that the 16-bit type has, ties to even; it
/// stays float32. What is too large for float16 becomes infinite. The gradient is rounded in
/// the same way: what reaches x has been through 16 bits too. Throws invalid_argument for
/// another type than bfloat16 and float16.
Output round_to(Output x, DType half);

/// While it lives, the float32 inputs of products and convolutions that this thread adds to
/// graphs are rounded to 16 bits: what hardware computes that multiplies 16-bit numbers and
/// adds up in 32 bits, gradients included. Weights stay float32, and so do all other ops.
/// Scopes nest; the innermost rules, and float32 turns it off.
///
///   const AutocastScope scope(DType::bfloat16);
///   const auto hidden = nn::dense(x, 64);
class AutocastScope {
 public:
  /// Throws invalid_argument for another type than float32, bfloat16 and float16.
  explicit AutocastScope(DType type);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;

 private:
  DType outer_;
};

/// What a product or convolution takes for x: x, or x rounded as the scope of this thread
/// says.
Output autocast(Output x);

}  // namespace troupe
