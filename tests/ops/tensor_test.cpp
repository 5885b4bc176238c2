#include "troupe/ops/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;

TEST(Tensor, SharesItsValuesWhenCopiedAndGivesThemUpWhenWritten) {
  auto a = Tensor::of<float>({3}, {1, 2, 3});
  auto b = a;
  EXPECT_EQ(a.data(), b.data());
  b.write<float>()[0] = 9;
  EXPECT_THAT(a.read<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(b.read<float>(), ElementsAre(9, 2, 3));
}

TEST(Tensor, WritesInPlaceWhenNobodyElseHoldsTheValues) {
  auto a = Tensor::of<float>({2}, {1, 2});
  const auto* before = a.data();
  a.write<float>()[1] = 5;
  EXPECT_EQ(a.data(), before);
}

TEST(Tensor, IsAlignedTo64Bytes) {
  for (const auto count : {1, 3, 100, 5000, 1 << 20})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(Tensor(DType::float32, {count}).data()) % 64, 0u);
}

TEST(Tensor, SlicesRowsWithoutACopy) {
  const auto a = Tensor::of<std::int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto rows = a.slice(1, 3);
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_THAT(rows.read<std::int32_t>(), ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(rows.data(), a.data() + 2 * sizeof(std::int32_t));
}

TEST(Tensor, GivesOneRowWithoutItsFirstAxis) {
  const auto a = Tensor::of<std::int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(a.row(2), Tensor::of<std::int32_t>({2}, {5, 6}));
  EXPECT_EQ(a.row(2).data(), a.data() + 4 * sizeof(std::int32_t));
  EXPECT_EQ(a.row(0).row(1), Tensor::scalar<std::int32_t>(2));
  EXPECT_THROW(a.row(3), Error);
  EXPECT_THROW(Tensor::scalar(1.0f).row(0), Error);
}

TEST(Tensor, RefusesValuesThatDoNotFillTheShape) {
  try {
    Tensor::of<float>({2, 2}, {1, 2, 3});
    FAIL() << "three values filled four places";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    EXPECT_STREQ(error.what(), "shape [2, 2] holds 4 values, but 3 were given");
  }
}

TEST(Tensor, RefusesToBeReadAsAnotherDtype) {
  const Tensor a(DType::int64, {2});
  EXPECT_THROW(a.read<float>(), Error);
}

TEST(Tensor, HoldsStrings) {
  auto a = Tensor::of<std::string>({2}, {"a string that is too long to be kept in place", ""});
  const auto b = a.clone();
  a = Tensor();
  EXPECT_EQ(b.read<std::string>()[0], "a string that is too long to be kept in place");
}

TEST(Tensor, RefusesSizesThatOverflow) {
  EXPECT_THROW(Tensor(DType::float32, {std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_THROW(Tensor(DType::float32, {std::int64_t{1} << 61}), Error);
}

TEST(Bfloat16AndFloat16, RoundTripThroughTheNearestValue) {
  for (const float x : {0.f, 1.f, -2.5f, 65504.f, 1e-7f, 6.1e-5f, 3.14159f}) {
    EXPECT_NEAR(to_float(to_bfloat16(x)), x, std::abs(x) / 256);
    EXPECT_NEAR(to_float(to_float16(x)), x, std::abs(x) / 2048 + 0x1p-25f);
  }
  EXPECT_TRUE(std::isinf(to_float(to_float16(1e6f))));
  EXPECT_TRUE(std::isnan(to_float(to_float16(NAN))));
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(NAN))));
}

TEST(Memory, IsUsedAgain) {
  const auto* first = Tensor(DType::float32, {777}).data();
  if (memory_use().cached == 0) GTEST_SKIP() << "a sanitizer has every block from its own heap";
  EXPECT_EQ(first, Tensor(DType::float32, {777}).data());
}

TEST(Memory, CountsWhatIsHeld) {
  const auto before = memory_use().live;
  {
    const Tensor a(DType::float32, {1 << 20});
    EXPECT_GE(memory_use().live, before + (4u << 20));
  }
  EXPECT_EQ(memory_use().live, before);
}

TEST(Memory, OfAnEndedThreadIsUsedAgain) {
  const auto fill = [] {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 1000; ++i) tensors.emplace_back(DType::float32, Shape{250});
  };
  std::thread(fill).join();
  const auto after_one = memory_use();
  for (int i = 0; i < 20; ++i) std::thread(fill).join();
  EXPECT_EQ(memory_use().live, after_one.live);
  EXPECT_EQ(memory_use().cached, after_one.cached);
}

TEST(Memory, ThatOneThreadTakesAndAnotherGivesBackStaysBounded) {
  constexpr int kRounds = 200;
  const auto before = memory_use();
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 100; ++i) tensors.emplace_back(DType::float32, Shape{250});
    std::thread([taken = std::move(tensors)]() mutable { taken.clear(); }).join();
  }
  EXPECT_EQ(memory_use().live, before.live);
  // 200 rounds took 25 MB; what stays is about what one round needs.
  EXPECT_LE(memory_use().cached, before.cached + 1'000'000);
}

TEST(Memory, IsGivenBackByThreadLocalTensorsOfAnEndingThread) {
  const auto before = memory_use().live;
  std::thread([] {
    static thread_local Tensor made_before_the_cache;
    made_before_the_cache = Tensor(DType::float32, {10});  // destroyed after the cache
  }).join();
  EXPECT_EQ(memory_use().live, before);
}

}  // namespace
}  // namespace troupe
