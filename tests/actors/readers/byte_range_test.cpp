#include "troupe/actors/readers/byte_range.h"

#include <random>

#include "actors/readers/read_all.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "troupe/actors/readers/text_line_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SplitLinesTest : public ::testing::Test {
 protected:
  std::vector<std::string> read_in_parts(const std::string& bytes, std::size_t count,
                                         std::int64_t header = 0) {
    test::write_file(directory / "a.txt", bytes);
    std::vector<std::string> all;
    for (const auto& range : split_lines(directory / "a.txt", count, header)) {
      TextLineOptions options{.files = {directory / "a.txt"}, .skip_header_lines = header};
      options.range = range;
      options.allow_empty = true;
      options.buffer_bytes = 7;
      TextLineSource source(options);
      for (auto& line : test::read_all(source)) all.push_back(std::move(line));
    }
    return all;
  }
  std::vector<std::string> read_whole(std::int64_t header = 0) {
    TextLineSource source(
        {.files = {directory / "a.txt"}, .skip_header_lines = header, .allow_empty = true});
    return test::read_all(source);
  }
  test::TemporaryDirectory directory;
};

TEST_F(SplitLinesTest, HasEachLineInOnePart) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    std::string bytes = round % 3 == 0 ? "\xEF\xBB\xBF" : "";
    for (auto lines = random() % 20; lines > 0; --lines)
      bytes += std::string(random() % 12, static_cast<char>('a' + lines % 26)) +
               (random() % 2 ? "\n" : "\r\n");
    if (round % 2 == 0) bytes += "no end";
    for (const std::size_t count : {1, 2, 3, 7, 50})
      for (const std::int64_t header : {0, 1, 3}) {
        const auto parts = read_in_parts(bytes, count, header);
        ASSERT_EQ(parts, read_whole(header))
            << count << " parts, header of " << header << ": " << bytes;
      }
  }
}

TEST_F(SplitLinesTest, SaysFromWhichByteLinesAreCounted) {
  test::write_file(directory / "a.txt", "one\ntwo\nthree\nfour\n");
  const auto ranges = split_lines(directory / "a.txt", 2);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].end, 9u);
  EXPECT_EQ(ranges[1].begin, 9u);
  TextLineOptions options{.files = {directory / "a.txt"}};
  options.range = ranges[0];
  TextLineSource first(options);
  EXPECT_THAT(test::read_with_places(first),
              ElementsAre("a.txt:1 one", "a.txt:2 two", "a.txt:3 three"));
  options.range = ranges[1];
  TextLineSource second(options);
  EXPECT_THAT(test::read_with_places(second), ElementsAre("a.txt@9:1 four"));
}

TEST_F(SplitLinesTest, RefusesWhatHasNoSize) {
  test::write_file(directory / "a.gz", test::compressed("one\n", true));
  EXPECT_THAT(error_of([&] { split_lines(directory / "a.gz", 2); }),
              IsError(Code::invalid_argument, HasSubstr("a.gz cannot be split")));
  TextLineOptions options{.files = {directory / "a.gz"}};
  options.range.begin = 1;
  TextLineSource source(options);
  EXPECT_THAT(error_of([&] { test::read_all(source); }),
              IsError(Code::invalid_argument, HasSubstr("a.gz: a compressed file cannot be read")));
  EXPECT_THROW(split_lines(directory / "a.gz", 0), Error);
}

}  // namespace
}  // namespace troupe
