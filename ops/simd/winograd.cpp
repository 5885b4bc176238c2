#include "troupe/ops/simd/winograd.h"

#include <algorithm>

namespace troupe::simd {

std::int64_t WinogradSizes::block() const {
  constexpr std::int64_t kValues = 192 << 10;  // 768 KiB, less than a second-level cache
  constexpr std::int64_t kFewest = 48;         // that make reading the filter again worth it
  return std::max(kFewest, kValues / (kPoints * (in + out)));
}

std::int64_t WinogradSizes::scratch() const { return kPoints * (block() + 1) * (in + out); }

}  // namespace troupe::simd
