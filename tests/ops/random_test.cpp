#include "troupe/ops/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace troupe::test {
namespace {

using testing::ElementsAre;

TEST(Philox, GivesTheKnownAnswersOfItsAuthors) {
  // kat_vectors of the Random123 distribution, philox4x32 10: counter and key, then the result.
  EXPECT_THAT(Philox(0, 0)(0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Philox(~0ull, ~0ull)(~0ull),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Philox(0x299f31d0a4093822, 0x0370734413198a2e)(0x85a308d3243f6a88),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(RandomStream, GoesOnFromAnyPositionThatWasSaved) {
  RandomStream all(7, 3);
  std::vector<std::uint32_t> sequence;
  for (int i = 0; i < 20; ++i) sequence.push_back(all.next());
  for (std::uint64_t position = 0; position < 20; ++position) {
    RandomStream later(7, 3);
    later.seek(position);
    EXPECT_EQ(later.position(), position);
    EXPECT_EQ(later.next(), sequence[position]) << "at " << position;
  }
}

TEST(RandomStream, DiffersByNameAndSeed) {
  std::set<std::uint64_t> seeds;
  for (const auto* name : {"w", "b", "conv1/w", "conv2/w", ""})
    for (std::uint64_t seed = 0; seed < 100; ++seed) seeds.insert(seed_for(seed, name));
  EXPECT_EQ(seeds.size(), 500u);
}

TEST(RandomStream, DrawsBelowABoundWithoutBias) {
  // With this bound a plain remainder of 64 bits would give the lower third twice as often.
  const std::uint64_t bound = 3ull << 62;
  RandomStream random(1);
  int lower = 0, upper = 0;
  for (int i = 0; i < 30'000; ++i) {
    const auto drawn = random.below(bound);
    ASSERT_LT(drawn, bound);
    (drawn < bound / 3 ? lower : upper) += 1;
  }
  // A third of 30,000; five standard deviations of the binomial are 408.
  EXPECT_NEAR(lower, 10'000, 408);

  std::array<int, 6> faces{};
  for (int i = 0; i < 60'000; ++i) ++faces[random.below(6)];
  double chi2 = 0;
  for (const auto count : faces) chi2 += (count - 10'000.) * (count - 10'000.) / 10'000;
  EXPECT_LT(chi2, 20.5) << "one of a thousand fair dice is above";
  EXPECT_EQ(random.below(1), 0u);
}

TEST(RandomStream, DrawsUniformAndNormalNumbersOfTheRightMoments) {
  RandomStream random(5);
  constexpr int kDraws = 200'000;
  double sum = 0, sum2 = 0, sum4 = 0, uniform = 0, uniform2 = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    uniform += u;
    uniform2 += u * u;
    const double z = random.normal();
    ASSERT_TRUE(std::isfinite(z));
    sum += z;
    sum2 += z * z;
    sum4 += z * z * z * z;
  }
  // Within five standard errors.
  const double root = std::sqrt(double{kDraws});
  EXPECT_NEAR(uniform / kDraws, 0.5, 5 * std::sqrt(1. / 12) / root);
  EXPECT_NEAR(uniform2 / kDraws, 1. / 3, 5 * std::sqrt(4. / 45) / root);
  EXPECT_NEAR(sum / kDraws, 0, 5 / root);
  EXPECT_NEAR(sum2 / kDraws, 1, 5 * std::sqrt(2.) / root);
  EXPECT_NEAR(sum4 / kDraws, 3, 5 * std::sqrt(96.) / root);
}

TEST(RandomBits, BecomeFloatsBelowOne) {
  EXPECT_EQ(to_unit_float(0), 0.f);
  EXPECT_LT(to_unit_float(0xffffffff), 1.f);
  EXPECT_EQ(to_unit_double(0, 0), 0.);
  EXPECT_LT(to_unit_double(0xffffffff, 0xffffffff), 1.);
}

}  // namespace
}  // namespace troupe::test
