#include "troupe/ops/simd/isa.h"

#include <gtest/gtest.h>

namespace troupe::simd {
namespace {

TEST(Isa, InUseIsNeverMoreThanTheProcessorHas) { EXPECT_LE(isa(), best_isa()); }

TEST(Isa, PicksOneOfThreeByLevel) {
  EXPECT_EQ(pick(2, 3, 4, Isa::v2), 2);
  EXPECT_EQ(pick(2, 3, 4, Isa::v3), 3);
  EXPECT_EQ(pick(2, 3, 4, Isa::v4), 4);
}

TEST(Isa, IsCalledWhatCompilersCallIt) { EXPECT_STREQ(to_string(Isa::v3), "x86-64-v3"); }

}  // namespace
}  // namespace troupe::simd
