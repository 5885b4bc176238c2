#include "troupe/ops/autocast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <thread>

#include "support/check_gradient.h"
#include "support/error_matcher.h"
#include "troupe/ops/array.h"
#include "troupe/ops/convolution.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/nn/layers.h"

namespace troupe::test {
namespace {

using testing::HasSubstr;

/// Floats of every exponent, of both signs, around every rounding.
Tensor all_kinds_of_floats() {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4093)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (std::uint32_t half = 0; half < (1U << 16); ++half)
    for (const std::uint32_t more : {0x0fffU, 0x1000U, 0x1001U, 0x7fffU, 0x8000U, 0x8001U})
      values.push_back(std::bit_cast<float>((half << 16) | more));
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

class RoundTo : public ::testing::TestWithParam<DType> {};

TEST_P(RoundTo, IsACastThereAndBack) {
  Graph g;
  const auto x = all_kinds_of_floats();
  const auto rounded = run_graph(round_to(constant(g, x), GetParam()));
  const auto from = x.read<float>();
  const auto got = rounded.read<float>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto expected = GetParam() == DType::bfloat16 ? to_float(to_bfloat16(from[i]))
                                                        : to_float(to_float16(from[i]));
    if (std::isnan(from[i]))
      ASSERT_TRUE(std::isnan(got[i]));
    else
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(expected))
          << from[i];
  }
}

TEST_P(RoundTo, RoundsTheGradientToo) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {});
  const auto y = mul(round_to(x, GetParam()), constant(g, Tensor::scalar(1.0F / 3)));
  const auto dx = run_graph(gradients(y, {x})[0].values, {{"x", Tensor::scalar(1.0F)}});
  EXPECT_EQ(dx.item(),
            run_graph(round_to(constant(g, Tensor::scalar(1.0F / 3)), GetParam())).item());
  EXPECT_NE(dx.item(), 1.0F / 3);
}

INSTANTIATE_TEST_SUITE_P(Halves, RoundTo, ::testing::Values(DType::bfloat16, DType::float16),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(RoundToWhat, IsSaidWhenItIsWrong) {
  Graph g;
  const auto x = constant(g, Tensor::scalar(1.0F));
  EXPECT_THAT(error_of([&] { round_to(x, DType::float32); }),
              IsError(Code::invalid_argument, HasSubstr("bfloat16 or float16, not to float32")));
  EXPECT_THAT(error_of([&] { round_to(cast(x, DType::int32), DType::float16); }),
              IsError(Code::invalid_argument, HasSubstr("rounds float32, not int32")));
  EXPECT_THAT(error_of([] { AutocastScope scope(DType::int8); }),
              IsError(Code::invalid_argument, HasSubstr("not to int8")));
}

std::int64_t roundings(const Graph& g) {
  std::int64_t count = 0;
  for (const auto& node : g.nodes()) count += node.op->name == "round_to" ? 1 : 0;
  return count;
}

TEST(Autocast, RoundsWhatProductsAndConvolutionsTake) {
  Graph g;
  const auto image = placeholder(g, "image", DType::float32, {-1, 8, 8, 1});
  const AutocastScope scope(DType::bfloat16);
  const auto layer = nn::conv2d(image, 4, {3, 3});
  EXPECT_EQ(roundings(g), 2);
  nn::dense(reshape(layer, {-1, 8 * 8 * 4}), 3);
  EXPECT_EQ(roundings(g), 4);
  relu(layer);
  EXPECT_EQ(roundings(g), 4) << "nothing else is rounded";
}

TEST(Autocast, LeavesOtherTypesAndOtherThreadsAlone) {
  Graph g;
  const auto a = constant(g, Tensor(DType::float64, {2, 2}));
  const auto b = constant(g, Tensor(DType::float32, {2, 2}));
  const AutocastScope scope(DType::float16);
  matmul(a, a);
  EXPECT_EQ(roundings(g), 0);
  std::thread([&] { matmul(b, b); }).join();
  EXPECT_EQ(roundings(g), 0);
  {
    const AutocastScope off(DType::float32);
    matmul(b, b);
  }
  EXPECT_EQ(roundings(g), 0);
  matmul(b, b);
  EXPECT_EQ(roundings(g), 2);
}

TEST(Autocast, MultipliesWhatWasRoundedAndAddsUpInFloat32) {
  Graph g;
  const auto a = constant(g, Tensor::of<float>({1, 2}, {1.001F, 1}));
  const auto b = constant(g, Tensor::of<float>({2, 1}, {1, 0x1p-12F}));
  const AutocastScope scope(DType::bfloat16);
  EXPECT_EQ(run_graph(matmul(a, b)).item(), 1 + 0x1p-12)
      << "1.001 is 1 in bfloat16, and the sum has more bits than that";
}

}  // namespace
}  // namespace troupe::test
