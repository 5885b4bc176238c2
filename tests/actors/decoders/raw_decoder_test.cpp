#include "troupe/actors/decoders/raw_decoder.h"

#include "actors/decoders/listed_source.h"
#include "support/error_matcher.h"

namespace troupe {
namespace {

using namespace std::string_literals;
using test::error_of;
using test::IsError;
using ::testing::HasSubstr;
using ::testing::StrEq;

Tensor decode(const std::string& record, const RawDecoderOptions& options) {
  test::ListedSource source({record});
  std::vector<RecordRun> runs;
  source.read(runs, {});
  Element element;
  RawDecoder decoder(options);
  decoder.decode(runs[0], 0, element);
  return element.at(0);
}

TEST(RawDecoder, ReadsValuesOfAnyDtype) {
  EXPECT_EQ(decode("\x01\x02\xff", {.dtype = DType::uint8, .shape = {3, 1}}),
            Tensor::of<std::uint8_t>({3, 1}, {1, 2, 255}));
  EXPECT_EQ(decode("\x01\x02\xff\xff"s, {.dtype = DType::int16, .shape = {2}}),
            Tensor::of<std::int16_t>({2}, {513, -1}));
  EXPECT_EQ(decode("\x01\x02\xff\xfe"s, {.dtype = DType::int16, .shape = {2}, .big_endian = true}),
            Tensor::of<std::int16_t>({2}, {258, -2}));
  EXPECT_EQ(decode("\x00\x00\x80\x3f"s, {.dtype = DType::float32}), Tensor::scalar<float>(1));
}

TEST(RawDecoder, MakesAsManyRowsAsThereAreBytesFor) {
  EXPECT_EQ(decode("abcd", {.dtype = DType::uint8, .shape = {-1, 2}}).shape(), Shape({2, 2}));
  EXPECT_EQ(decode("", {.dtype = DType::uint8, .shape = {-1, 2}}).shape(), Shape({0, 2}));
}

TEST(RawDecoder, KeepsARecordAsAString) {
  EXPECT_EQ(decode("a\0b"s, {.dtype = DType::string}), Tensor::scalar("a\0b"s));
}

TEST(RawDecoder, SaysHowManyBytesAreNeeded) {
  EXPECT_THAT(error_of([] { decode("abc", {.dtype = DType::float32, .shape = {2}}); }),
              IsError(Code::invalid_argument,
                      StrEq("list:1: has 3 bytes, but float32 of shape [2] needs 8")));
  EXPECT_THAT(error_of([] { decode("abc", {.dtype = DType::int16, .shape = {-1}}); }),
              IsError(Code::invalid_argument, HasSubstr("needs a multiple of 2")));
}

TEST(RawDecoder, RefusesWhatCannotBe) {
  for (const auto& options : {RawDecoderOptions{.dtype = DType::boolean},
                              RawDecoderOptions{.dtype = DType::string, .shape = {2}},
                              RawDecoderOptions{.shape = {2, -1}}, RawDecoderOptions{.shape = {0}},
                              RawDecoderOptions{.shape = {1 << 20, 1 << 20}}})
    EXPECT_EQ(error_of([&] { RawDecoder decoder(options); }).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace troupe
