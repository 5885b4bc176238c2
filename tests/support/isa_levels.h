#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "troupe/ops/simd/isa.h"

namespace troupe::test {

/// The levels whose code this processor can run, to instantiate a suite with.
inline std::vector<simd::Isa> isa_levels() {
  std::vector<simd::Isa> levels;
  for (const auto level : {simd::Isa::v2, simd::Isa::v3, simd::Isa::v4})
    if (level <= simd::best_isa()) levels.push_back(level);
  return levels;
}

/// "v2", "v3" or "v4", for the names of tests.
inline std::string isa_name(const testing::TestParamInfo<simd::Isa>& info) {
  return simd::pick("v2", "v3", "v4", info.param);
}

}  // namespace troupe::test
