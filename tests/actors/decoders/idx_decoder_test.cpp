#include "troupe/actors/decoders/idx_decoder.h"

#include "actors/readers/idx_bytes.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/readers/idx_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;

/// Decodes all items of an IDX file.
class IdxDecoderTest : public ::testing::Test {
 protected:
  std::vector<Tensor> decode(const std::string& bytes, const IdxDecoderOptions& options) {
    test::write_file(directory / "x.idx", bytes);
    IdxSource source({.files = {directory / "x.idx"}});
    IdxDecoder decoder(source.header(), options);
    std::vector<Tensor> items;
    std::vector<RecordRun> runs;
    while (source.read(runs, {}))
      for (std::size_t i = 0; i < runs[0].count(); ++i) decoder.decode(runs[0], i, items);
    EXPECT_EQ(items.at(0).shape(), decoder.components().at(0).spec.shape);
    return items;
  }
  test::TemporaryDirectory directory;
};

TEST_F(IdxDecoderTest, ScalesPixels) {
  const auto items = decode(test::idx_bytes(0x08, {1, 1, 3}, std::string("\x00\x33\xFF", 3)),
                            {.scale = 1.0 / 255});
  EXPECT_EQ(items[0], Tensor::of<float>({1, 3}, {0.0f, 51 * static_cast<float>(1.0 / 255),
                                                 255 * static_cast<float>(1.0 / 255)}));
}

TEST_F(IdxDecoderTest, MakesLabelsIntegers) {
  const auto items = decode(test::idx_bytes(0x08, {2}, "\x07\xFF"), {.dtype = DType::int64});
  EXPECT_EQ(items[0], Tensor::scalar<std::int64_t>(7));
  EXPECT_EQ(items[1], Tensor::scalar<std::int64_t>(255));
}

TEST_F(IdxDecoderTest, ReadsBigEndianValuesOfEveryDtype) {
  using namespace std::string_literals;
  const auto first = [&](int code, const std::string& bytes, DType dtype) {
    return decode(test::idx_bytes(code, {1}, bytes), {.dtype = dtype})[0];
  };
  EXPECT_EQ(first(0x09, "\xFE"s, DType::int64), Tensor::scalar<std::int64_t>(-2));
  EXPECT_EQ(first(0x0B, "\xFF\xFE"s, DType::int16), Tensor::scalar<std::int16_t>(-2));
  EXPECT_EQ(first(0x0C, "\x00\x01\x00\x02"s, DType::int64), Tensor::scalar<std::int64_t>(65538));
  EXPECT_EQ(first(0x0D, "\x3F\x80\x00\x00"s, DType::float32), Tensor::scalar<float>(1));
  EXPECT_EQ(first(0x0E, "\xC0\x00\x00\x00\x00\x00\x00\x00"s, DType::float64),
            Tensor::scalar<double>(-2));
}

TEST_F(IdxDecoderTest, GivesItemsAnotherShape) {
  const auto items = decode(test::idx_bytes(0x08, {1, 2, 2}, "abcd"), {.shape = {2, 2, 1}});
  EXPECT_EQ(items[0].shape(), Shape({2, 2, 1}));
}

TEST(IdxDecoder, RefusesWhatItCannotDo) {
  const IdxHeader header{DType::uint8, 1, {2, 2}, 16};
  EXPECT_THAT(error_of([&] { IdxDecoder(header, {.shape = {3}}); }),
              IsError(Code::invalid_argument, HasSubstr("[2, 2] cannot be seen as [3]")));
  EXPECT_THAT(error_of([&] { IdxDecoder(header, {.dtype = DType::float64}); }),
              IsError(Code::invalid_argument, HasSubstr("not to float64")));
}

}  // namespace
}  // namespace troupe
