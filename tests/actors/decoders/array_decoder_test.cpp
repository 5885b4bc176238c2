#include "troupe/actors/decoders/array_decoder.h"

#include "actors/readers/idx_bytes.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/pipeline/arrays.h"
#include "troupe/actors/pipeline/batch_iterator.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;

std::string array(const std::string& name) { return TROUPE_TEST_DATA "/arrays/" + name; }

/// All items of a file.
std::vector<Tensor> decode(const std::string& path, const ArrayFormat& format,
                           const ArrayDecoderOptions& options) {
  ArraySource source({.files = {path}}, format);
  ArrayDecoder decoder(source.header(), options);
  std::vector<Tensor> rows;
  std::vector<RecordRun> runs;
  while (source.read(runs, {}))
    for (std::size_t i = 0; i < runs[0].count(); ++i) decoder.decode(runs[0], i, rows);
  const auto spec = decoder.components().at(0).spec;
  EXPECT_EQ(rows.at(0).dtype(), spec.dtype);
  EXPECT_EQ(rows.at(0).shape(), spec.shape);
  return rows;
}

/// All rows of an array of tests/data/arrays.
std::vector<Tensor> decode(const std::string& name, const ArrayDecoderOptions& options = {}) {
  return decode(array(name), npy_format(), options);
}

/// All items of an IDX file.
std::vector<Tensor> decode_idx(int code, const std::vector<std::uint32_t>& extents,
                               const std::string& values, const ArrayDecoderOptions& options) {
  const test::TemporaryDirectory directory;
  test::write_file(directory / "x.idx", test::idx_bytes(code, extents, values));
  return decode(directory / "x.idx", idx_format(), options);
}

TEST(ArrayDecoder, ScalesPixels) {
  const auto items = decode_idx(0x08, {1, 1, 3}, std::string("\x00\x33\xFF", 3),
                                {.dtype = DType::float32, .scale = 1.0 / 255});
  EXPECT_EQ(items[0], Tensor::of<float>({1, 3}, {0.0f, 51 * static_cast<float>(1.0 / 255),
                                                 255 * static_cast<float>(1.0 / 255)}));
}

TEST(ArrayDecoder, MakesLabelsIntegers) {
  const auto items = decode_idx(0x08, {2}, "\x07\xFF", {.dtype = DType::int64});
  EXPECT_EQ(items[0], Tensor::scalar<std::int64_t>(7));
  EXPECT_EQ(items[1], Tensor::scalar<std::int64_t>(255));
}

TEST(ArrayDecoder, ReadsIdxValuesOfEveryDtype) {
  using namespace std::string_literals;
  const auto first = [&](int code, const std::string& bytes, DType dtype) {
    return decode_idx(code, {1}, bytes, {.dtype = dtype})[0];
  };
  EXPECT_EQ(first(0x09, "\xFE"s, DType::int64), Tensor::scalar<std::int64_t>(-2));
  EXPECT_EQ(first(0x0B, "\xFF\xFE"s, DType::int16), Tensor::scalar<std::int16_t>(-2));
  EXPECT_EQ(first(0x0C, "\x00\x01\x00\x02"s, DType::int64), Tensor::scalar<std::int64_t>(65538));
  EXPECT_EQ(first(0x0D, "\x3F\x80\x00\x00"s, DType::float32), Tensor::scalar<float>(1));
  EXPECT_EQ(first(0x0E, "\xC0\x00\x00\x00\x00\x00\x00\x00"s, DType::float64),
            Tensor::scalar<double>(-2));
}

TEST(ArrayDecoder, KeepsDtypeShapeAndValues) {
  for (const std::string name :
       {"float32", "float32_big", "float64", "float64_big", "float16", "int8", "int16", "int16_big",
        "int32", "int64", "int64_big", "uint8", "version2", "version3"}) {
    const auto rows = decode(name + ".npy");
    ASSERT_EQ(rows.size(), 5u);
    EXPECT_EQ(rows[0].shape(), Shape({2, 3}));
    const int first = name == "uint8" ? 0 : -10;
    for (int k = 0; k < 30; ++k)
      EXPECT_EQ(rows[static_cast<std::size_t>(k / 6)].at(k % 6), k + first) << name << ' ' << k;
  }
  EXPECT_EQ(decode("float16.npy")[0].dtype(), DType::float16);
  EXPECT_EQ(decode("bool.npy")[0],
            Tensor::of<bool>({2, 3}, {false, true, false, true, false, true}));
  EXPECT_EQ(decode("vector.npy")[3], Tensor::scalar<float>(-7));
}

TEST(ArrayDecoder, ConvertsToFloat) {
  for (const std::string name : {"float16", "float64_big", "int8", "int64", "bool"}) {
    const auto rows = decode(name + ".npy", {.dtype = DType::float32, .scale = 0.5});
    const double wanted = name == "bool" ? 0.5 : -4.5;
    EXPECT_EQ(rows[0].dtype(), DType::float32);
    EXPECT_EQ(rows[0].at(1), wanted) << name;
  }
}

TEST(ArrayDecoder, ConvertsIntegersToInt64) {
  EXPECT_EQ(decode("int16_big.npy", {.dtype = DType::int64})[1],
            Tensor::of<std::int64_t>({2, 3}, {-4, -3, -2, -1, 0, 1}));
  EXPECT_THAT(error_of([] { decode("float32.npy", {.dtype = DType::int64}); }),
              IsError(Code::invalid_argument,
                      "items of float32 are decoded to their own dtype or "
                      "float32, not to int64"));
  EXPECT_THAT(error_of([] { decode("int8.npy", {.dtype = DType::float64}); }),
              IsError(Code::invalid_argument,
                      "items of int8 are decoded to their own dtype, float32 "
                      "or int64, not to float64"));
}

TEST(ArrayDecoder, GivesRowsAnotherShape) {
  EXPECT_EQ(decode("int8.npy", {.shape = {3, 2, 1}})[0].shape(), Shape({3, 2, 1}));
  EXPECT_THAT(error_of([] {
                decode("int8.npy", {.shape = {3, 3}});
              }),
              IsError(Code::invalid_argument, "items of shape [2, 3] cannot be seen as [3, 3]"));
}

TEST(ArrayDecoder, RefusesRecordsOfAnotherSize) {
  ArraySource source({.files = {array("int8.npy")}}, npy_format());
  ArrayDecoder decoder(open_npy(array("int32.npy")).header, {});
  std::vector<RecordRun> runs;
  Element element;
  ASSERT_TRUE(source.read(runs, {}));
  EXPECT_THAT(error_of([&] { decoder.decode(runs[0], 1, element); }),
              IsError(Code::data_loss, HasSubstr("int8.npy:2: the item has 6 bytes, but 24 are "
                                                 "needed")));
}

TEST(Arrays, OfAnNpzFileStandSideBySide) {
  const auto file = array("deflated.npz");
  const auto records = read_npz(file, {"images", "labels"});
  EXPECT_EQ(records.count(), 12);
  BatchIterator batches(
      records
          .decode({npz_rows(file, "images", {.dtype = DType::float32, .scale = 1.0 / 64}),
                   npz_rows(file, "labels")},
                  {.decoders = 2})
          .buffer(20)
          .batch(5, Remainder::keep),
      {1, 1});
  std::int64_t row = 0;
  while (const auto batch = batches.next())
    for (std::int64_t i = 0; i < batch->rows(); ++i, ++row) {
      EXPECT_EQ(batch->components[0].at(4 * i), static_cast<double>(4 * row) / 64);
      EXPECT_EQ(batch->components[1].at(i), static_cast<double>(row - 10));
    }
  EXPECT_EQ(row, 12);
}

TEST(Arrays, WithOtherNumbersOfRowsAreNotZipped) {
  EXPECT_THAT(error_of([] {
                read_npz(array("stored.npz"), {"images", "short"});
              }),
              IsError(Code::invalid_argument, HasSubstr("they have 12 and 11 records")));
  EXPECT_THAT(error_of([] { read_npz(array("stored.npz"), {}); }),
              IsError(Code::invalid_argument, HasSubstr("say which arrays of")));
}

TEST(Arrays, OfSeveralFilesAreOneStream) {
  const auto records = read_npy({array("int8.npy"), array("int8.npy")});
  EXPECT_EQ(records.count(), 10);
  EXPECT_THAT(records.description(), HasSubstr("rows of 2 files"));
}

}  // namespace
}  // namespace troupe
