#include "troupe/actors/decoders/number_decoder.h"

#include <cstdlib>
#include <random>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/decoders/tuple_decoder.h"
#include "troupe/actors/readers/text_line_source.h"
#include "troupe/actors/readers/zip_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;
using ::testing::StrEq;

/// Decodes the lines of a file.
class NumberDecoderTest : public ::testing::Test {
 protected:
  std::vector<Tensor> decode(std::string_view bytes, const NumberDecoderOptions& options) {
    test::write_file(directory / "a.txt", bytes);
    TextLineSource source({.files = {directory / "a.txt"}});
    NumberDecoder decoder(options);
    std::vector<Tensor> rows;
    std::vector<RecordRun> runs;
    while (source.read(runs, {}))
      for (std::size_t i = 0; i < runs[0].count(); ++i) decoder.decode(runs[0], i, rows);
    return rows;
  }
  Error failure(std::string_view bytes, const NumberDecoderOptions& options) {
    return error_of([&] { decode(bytes, options); });
  }
  std::string at(const std::string& rest) { return directory / "a.txt:" + rest; }

  test::TemporaryDirectory directory;
};

TEST_F(NumberDecoderTest, MakesATensorOfEachLine) {
  const auto rows = decode("1 2.5 -3e2 4\r\n5 6 7 8", {.shape = {2, 2}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], Tensor::of<float>({2, 2}, {1, 2.5f, -300, 4}));
  EXPECT_EQ(rows[1], Tensor::of<float>({2, 2}, {5, 6, 7, 8}));
}

TEST_F(NumberDecoderTest, DecodesIntegersExactly) {
  const auto rows =
      decode("9007199254740993\n-1\n", {.shape = {}, .dtype = DType::int64, .delimiter = ','});
  EXPECT_EQ(rows[0], Tensor::scalar<std::int64_t>(9007199254740993));
  EXPECT_EQ(rows[1], Tensor::scalar<std::int64_t>(-1));
}

TEST_F(NumberDecoderTest, TakesOneDelimiterAtTheEndAndMoreWhenAsked) {
  EXPECT_EQ(decode("1,2,\n", {.shape = {2}, .delimiter = ','})[0], Tensor::of<float>({2}, {1, 2}));
  EXPECT_EQ(decode("  1   2  \n", {.shape = {2}, .merge_delimiters = true})[0],
            Tensor::of<float>({2}, {1, 2}));
}

TEST_F(NumberDecoderTest, NamesFileLineColumnAndFieldOfWhatIsNoNumber) {
  EXPECT_THAT(failure("1 2\n3 N/A\n", {.shape = {2}}),
              IsError(Code::invalid_argument, StrEq(at("2:3: field 1: \"N/A\" is not a number"))));
  EXPECT_THAT(failure("1,,2\n", {.shape = {3}, .delimiter = ','}),
              IsError(Code::invalid_argument, HasSubstr(at("1:3: field 1 is empty"))));
}

TEST_F(NumberDecoderTest, SaysHowManyNumbersAreNeededAndWhy) {
  EXPECT_THAT(
      failure("1 2 3\n", {.shape = {2, 2}}),
      IsError(Code::invalid_argument, HasSubstr("got 3 fields, expected 4 (shape [2, 2])")));
  EXPECT_THAT(failure("1 2 3 4 5\n", {.shape = {2, 2}}),
              IsError(Code::invalid_argument, HasSubstr("got 5 fields, expected 4")));
  EXPECT_THAT(failure("1\n\n", {.shape = {1}}),
              IsError(Code::invalid_argument, HasSubstr(at("2:"))));
  EXPECT_THAT(failure("1\n\n", {.shape = {1}, .merge_delimiters = true}),
              IsError(Code::invalid_argument, HasSubstr("got 0 fields, expected 1: a blank line")));
}

TEST_F(NumberDecoderTest, SurvivesBinaryJunk) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::string junk(random() % 300, '\0');
    for (auto& c : junk) c = static_cast<char>(random());
    EXPECT_EQ(failure(junk + "\x01\n", {.shape = {3}}).code(), Code::invalid_argument);
  }
}

TEST_F(NumberDecoderTest, GivesTheBitsOfStrtofForWideLines) {
  std::mt19937 random(5);
  std::string line;
  std::vector<float> expected;
  for (int i = 0; i < 3900; ++i) {
    char field[32];
    std::snprintf(field, sizeof(field), i % 3 ? "%.6f" : "%.9g",
                  (static_cast<double>(random()) - 2e9) / 4e6);
    expected.push_back(std::strtof(field, nullptr));
    line += (i > 0 ? " " : "") + std::string(field);
  }
  EXPECT_TRUE(same_bits(decode(line, {.shape = {20, 195, 1}})[0],
                        Tensor::of<float>({20, 195, 1}, expected)));
}

TEST(NumberDecoder, RefusesWhatItCannotDo) {
  EXPECT_THAT(error_of([] { NumberDecoder({.shape = {Shape::kUnknown}}); }),
              IsError(Code::invalid_argument, HasSubstr("known extents, not to [?]")));
  EXPECT_THAT(error_of([] { NumberDecoder({.shape = {2}, .dtype = DType::float64}); }),
              IsError(Code::invalid_argument, HasSubstr("float32 or int64, not to float64")));
}

TEST_F(NumberDecoderTest, DecodesZippedFilesToTuples) {
  test::write_file(directory / "x.txt", "1 2\n3 x\n5 6\n");
  test::write_file(directory / "y.txt", "10\n20\n30\n");
  std::vector<std::unique_ptr<RecordSource>> sources;
  for (const auto* name : {"x.txt", "y.txt"})
    sources.push_back(
        std::make_unique<TextLineSource>(TextLineOptions{.files = {directory / name}}));
  ZipSource source(std::move(sources));
  const auto bad = std::make_shared<BadRecords>(1);
  TupleDecoder tuple(
      {std::make_shared<NumberDecoder>(NumberDecoderOptions{.shape = {2}}),
       std::make_shared<NumberDecoder>(NumberDecoderOptions{.shape = {}, .dtype = DType::int64})},
      bad);
  RecordBlock block;
  ASSERT_TRUE(source.read(block.streams, {}));
  const auto elements = tuple.decode(block).elements;
  ASSERT_EQ(elements.size(), 2u) << "a record that is bad in one stream is left out of all";
  EXPECT_EQ(elements[1][0], Tensor::of<float>({2}, {5, 6}));
  EXPECT_EQ(elements[1][1], Tensor::scalar<std::int64_t>(30));
  EXPECT_EQ(bad->count(), 1);
  EXPECT_EQ(tuple.components().size(), 2u);
}

}  // namespace
}  // namespace troupe
