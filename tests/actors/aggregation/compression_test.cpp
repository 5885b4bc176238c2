#include "troupe/actors/aggregation/compression.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "support/error_matcher.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.at(i));
  return values;
}

Tensor row(std::vector<float> values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

Tensor there_and_back(GradientCompressor& compressor, const Tensor& gradient) {
  return decompressed(compressor.compress("w", gradient), gradient.dtype(), gradient.shape());
}

TEST(Compression, IsReadFromWords) {
  EXPECT_EQ(GradientCompression::parse("none").kind, CompressionKind::none);
  EXPECT_EQ(GradientCompression::parse("topk:0.25").keep, 0.25);
  for (const auto* words : {"none", "bfloat16", "float16", "topk:0.01", "topk:1"})
    EXPECT_EQ(to_string(GradientCompression::parse(words)), words);
  for (const auto* words : {"", "topk", "topk:", "topk:0", "topk:-1", "topk:1.5", "topk:nan",
                            "topk:0.1x", "zip", "bfloat16 "})
    EXPECT_THAT(error_of([&] { GradientCompression::parse(words); }),
                IsError(Code::invalid_argument, HasSubstr("topk:0.01")))
        << words;
}

TEST(Compression, ToBfloat16KeepsEightBitsOfMantissaAndAllExponents) {
  GradientCompressor compressor({CompressionKind::bfloat16});
  const auto gradient = row({1, -3.14159F, 1e30F, 1e-30F, 0, kInfinity});
  EXPECT_EQ(compressor.compress("w", gradient).values.byte_size(), gradient.byte_size() / 2);
  const auto back = there_and_back(compressor, gradient);
  for (const auto i : {0, 1, 2, 3, 4})
    EXPECT_NEAR(back.at(i), gradient.at(i), std::abs(gradient.at(i)) / 256);
  EXPECT_EQ(back.at(5), kInfinity);
}

TEST(Compression, ToFloat16KeepsWhatIsTooLargeForItFinite) {
  GradientCompressor compressor({CompressionKind::float16});
  const auto back = there_and_back(compressor, row({1.0F / 3, 1e6F, -1e6F, kInfinity, kNaN}));
  EXPECT_NEAR(back.at(0), 1.0 / 3, 1e-4);
  EXPECT_EQ(back.at(1), 65504);
  EXPECT_EQ(back.at(2), -65504);
  EXPECT_EQ(back.at(3), kInfinity);
  EXPECT_TRUE(std::isnan(back.at(4)));
}

TEST(TopK, SendsTheLargestAndAddsTheRestToTheNextGradient) {
  GradientCompressor compressor({CompressionKind::top_k, 0.5});
  const auto gradient = row({1, -8, 3, 4});
  EXPECT_THAT(values_of(there_and_back(compressor, gradient)), ElementsAre(0, -8, 0, 4));
  compressor.settle(true);
  EXPECT_THAT(values_of(there_and_back(compressor, gradient)), ElementsAre(0, -8, 6, 0));
  compressor.settle(true);
  EXPECT_THAT(values_of(there_and_back(compressor, gradient)), ElementsAre(0, -8, 0, 8))
      << "1 + 1 + 1 is still waiting";
}

TEST(TopK, CountsNothingAsSentThatWasRefused) {
  GradientCompressor compressor({CompressionKind::top_k, 0.25});
  const auto gradient = row({1, 2, 3, 4});
  EXPECT_THAT(values_of(there_and_back(compressor, gradient)), ElementsAre(0, 0, 0, 4));
  compressor.settle(false);
  EXPECT_THAT(values_of(there_and_back(compressor, gradient)), ElementsAre(0, 0, 0, 4));
  compressor.settle(true);
  EXPECT_THAT(values_of(there_and_back(compressor, gradient)), ElementsAre(0, 0, 6, 0));
}

TEST(TopK, LosesNothingInTheLongRun) {
  GradientCompressor compressor({CompressionKind::top_k, 0.1});
  RandomStream random(1);
  constexpr int kSteps = 400, kValues = 50;
  std::vector<double> given(kValues), sent(kValues);
  double largest = 0;
  for (int step = 0; step < kSteps; ++step) {
    Tensor gradient(DType::float64, {kValues});
    for (auto& value : gradient.write<double>()) value = random.normal() + 0.1;
    const auto back = there_and_back(compressor, gradient);
    compressor.settle(true);
    for (int i = 0; i < kValues; ++i) {
      given[static_cast<std::size_t>(i)] += gradient.at(i);
      sent[static_cast<std::size_t>(i)] += back.at(i);
    }
  }
  for (std::size_t i = 0; i < kValues; ++i)
    largest = std::max(largest, std::abs(given[i] - sent[i]));
  EXPECT_LT(largest, 20) << "what waits is bounded, however many steps there were";
}

TEST(TopK, AlwaysSendsWhatIsNotFinite) {
  GradientCompressor compressor({CompressionKind::top_k, 0.25});
  EXPECT_TRUE(std::isnan(there_and_back(compressor, row({1, kNaN, 30, 4})).at(1)));
  compressor.settle(true);
  EXPECT_THAT(values_of(there_and_back(compressor, row({0, 0, 0, 0}))), ElementsAre(0, 0, 30, 0));
  EXPECT_EQ(there_and_back(compressor, row({1, 2, 3, -kInfinity})).at(3), -kInfinity);
}

TEST(TopK, KeepsAtLeastOneAndTakesEmptyAndScalarGradients) {
  GradientCompressor compressor({CompressionKind::top_k, 0.001});
  EXPECT_EQ(there_and_back(compressor, Tensor::scalar(3.0F)).item(), 3);
  EXPECT_EQ(there_and_back(compressor, Tensor(DType::float32, {0, 4})).size(), 0);
}

TEST(CompressedGradients, ThatFitNoVariableAreRefused) {
  const Shape shape{2, 2};
  const auto refused = [&](const Tensor& values, const Tensor& places) {
    return error_of([&] { (void)decompressed({values, places}, DType::float32, shape); });
  };
  const auto place = [](std::int64_t p) { return Tensor::of<std::int64_t>({1}, {p}); };
  EXPECT_THAT(refused(row({1}), place(4)), IsError(Code::invalid_argument, HasSubstr("place 4")));
  EXPECT_THAT(refused(row({1}), place(-1)), IsError(Code::invalid_argument, HasSubstr("place -1")));
  EXPECT_THAT(refused(row({1, 2}), place(0)),
              IsError(Code::invalid_argument, HasSubstr("2 values")));
  EXPECT_THAT(refused(row({1}), row({0})), IsError(Code::invalid_argument, HasSubstr("float32")));
  EXPECT_THAT(refused(row({1}), {}), IsError(Code::invalid_argument, HasSubstr("shape [1]")));
  EXPECT_THAT(refused(Tensor(DType::float64, {2, 2}), {}),
              IsError(Code::invalid_argument, HasSubstr("cannot be float64")));
}

}  // namespace
}  // namespace troupe
