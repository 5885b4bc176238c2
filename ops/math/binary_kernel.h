#pragma once

#include "troupe/ops/kernel.h"
#include "troupe/ops/simd/loops.h"

namespace troupe {

/// A function of two values over operands that broadcast.
struct BinaryFunction {
  simd::BinaryLoops loops;
  double cycles = 1;  ///< of one value, about

  /// Looks at all of the right operand first, where some values would be fatal:
  /// returns the index of one, or -1. `complaint` then ends the error's sentence.
  std::int64_t (*find_bad)(const void* right, std::int64_t count) = nullptr;
  const char* complaint = "";
};

/// The kernel of y = f(a, b) for the shapes of `init`.
KernelPtr binary_kernel(const KernelInit& init, const BinaryFunction& function);

}  // namespace troupe
