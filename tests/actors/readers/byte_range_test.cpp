#include "troupe/actors/readers/byte_range.h"

#include <random>

#include "actors/readers/read_all.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "troupe/actors/readers/csv_source.h"
#include "troupe/actors/readers/data_line_source.h"
#include "troupe/actors/readers/fixed_length_source.h"
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
  for (int round = 0; round < 12; ++round) {
    std::string bytes = round % 3 == 0 ? "\xEF\xBB\xBF" : "";
    for (auto lines = random() % 20; lines > 0; --lines)
      bytes += std::string(random() % 12, static_cast<char>('a' + lines % 26)) +
               (random() % 2 ? "\n" : "\r\n");
    if (round % 2 == 0) bytes += "no end";
    for (const std::size_t count : {1, 3, 20})
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
  EXPECT_THAT(
      error_of([&] { test::read_all(source); }),
      IsError(Code::invalid_argument, HasSubstr("a.gz: a compressed file cannot be read in")));
  EXPECT_THROW(split_lines(directory / "a.gz", 0), Error);
}

/// Whatever the cuts, the parts together have each record once, in order.
class CutFiles : public ::testing::Test {
 protected:
  /// Reads a file in one piece, and in three parts cut at each byte from `first` on and two
  /// bytes behind it.
  template <class Source, class Options>
  void expect_each_record_once(const std::string& bytes, Options options, std::size_t first = 1) {
    test::write_file(directory / "x", bytes);
    options.files = {directory / "x"};
    options.allow_empty = true;
    options.buffer_bytes = 5;
    const auto read = [&](ByteRange range, std::vector<std::string>& records) {
      options.range = range;
      Source source(options);
      for (auto& record : test::read_all(source, {.records = 3, .bytes = 9}))
        records.push_back(std::move(record));
    };
    std::vector<std::string> all;
    read({}, all);
    for (std::size_t cut = first; cut <= bytes.size() + 2; ++cut) {
      std::vector<std::string> parts;
      read({0, cut}, parts);
      read({cut, cut + 2}, parts);
      read({cut + 2, ByteRange().end}, parts);
      ASSERT_EQ(parts, all) << "cut at " << cut << ": " << bytes;
    }
  }
  test::TemporaryDirectory directory;
};

TEST_F(CutFiles, OfLines) {
  for (const std::string bytes : {"", "\n", "a", "one\n\ntwo\r\nthree", "\xEF\xBB\xBFx\ny\n"})
    expect_each_record_once<TextLineSource>(bytes, TextLineOptions());
  expect_each_record_once<TextLineSource>("title\n1\n22\n333\n",
                                          TextLineOptions{.skip_header_lines = 1}, 6);
}

struct DataLines : DataLineSource {
  explicit DataLines(const TextLineOptions& options)
      : DataLineSource(options, [](std::string_view line) { return !line.empty(); }) {}
};

TEST_F(CutFiles, OfLinesSomeOfWhichHoldNoData) {
  expect_each_record_once<DataLines>("1\n\n22\n\n\n333\n\n", TextLineOptions());
}

TEST_F(CutFiles, OfCsvRecordsThatAreLines) {
  const CsvOptions plain{.quoted_newlines = false};
  for (const std::string bytes : {"", "\n", "a,b", "a,\"b,c\"\n\n\"d\"\"e\",f\r\n,g\n",
                                  "\xEF\xBB\xBFx,y\n\"1\n2,3\n", "5\",3\n4\",5\n"})
    expect_each_record_once<CsvSource>(bytes, plain);
  auto quotes = plain;
  quotes.quoted_newlines = true;
  quotes.syntax.quotes = false;
  expect_each_record_once<CsvSource>("\"a\nb\",\"\n\"", quotes);
  auto header = plain;
  header.header = header.skip_blank_lines = true;
  header.skip_lines = 1;
  expect_each_record_once<CsvSource>("#\nx,y\n1,2\n\n\n3,4\n\n", header, 6);
}

TEST_F(CutFiles, OfRecordsOfAFixedLength) {
  std::string bytes;
  for (char c = 'a'; c < 'p'; ++c) bytes += c;
  for (const std::size_t record : {2, 5})
    for (const std::size_t header : {0, 4})
      for (const std::size_t footer : {0, 2})
        for (const std::size_t hop : {0, 3, 7})
          for (const std::size_t size : {9, 15}) {
            FixedLengthOptions options{.record_bytes = record};
            options.header_bytes = header;
            options.footer_bytes = footer;
            options.hop_bytes = hop;
            options.policy.damaged = FileAction::skip;  // of a last record that is not whole
            expect_each_record_once<FixedLengthSource>(bytes.substr(0, size), options);
          }
}

/// A last record that is not whole is told, by one of the parts.
TEST_F(CutFiles, TellOfTheirEndOnce) {
  test::write_file(directory / "x", "HHaabbc");
  for (std::size_t cut = 1; cut < 9; ++cut) {
    int failures = 0;
    for (const auto& range : {ByteRange{0, cut}, ByteRange{cut, ByteRange().end}}) {
      FixedLengthOptions options{.files = {directory / "x"}, .record_bytes = 2};
      options.header_bytes = 2;
      options.allow_empty = true;
      options.range = range;
      FixedLengthSource source(options);
      try {
        test::read_all(source);
      } catch (const Error& error) {
        ++failures;
        EXPECT_THAT(error, IsError(Code::data_loss, HasSubstr("record 3 should begin at byte 6")));
      }
    }
    EXPECT_EQ(failures, 1) << "cut at " << cut;
  }
}

TEST_F(CutFiles, KeepTheNumbersOfRecordsWhereTheyAreKnown) {
  test::write_file(directory / "x", "Haabbcc");
  FixedLengthOptions fixed{.files = {directory / "x"}, .record_bytes = 2, .header_bytes = 1};
  fixed.range.begin = 2;
  FixedLengthSource source(fixed);
  EXPECT_THAT(test::read_with_places(source), ElementsAre("x:2 bb", "x:3 cc"));
  test::write_file(directory / "y", "1\n2\n3\n");
  CsvOptions csv{.files = {directory / "y"}, .quoted_newlines = false};
  csv.range.begin = 2;
  CsvSource lines(csv);
  EXPECT_THAT(test::read_with_places(lines), ElementsAre("y@2:1 2", "y@2:2 3"));
}

TEST_F(CutFiles, AreRefusedWhereNobodyKnowsWhereARecordBegins) {
  test::write_file(directory / "x", "1\n");
  CsvOptions csv{.files = {directory / "x"}};
  csv.range.begin = 1;
  EXPECT_THAT(error_of([&] { CsvSource source(csv); }),
              IsError(Code::invalid_argument, HasSubstr("say so (CsvOptions::quoted_newlines")));
  test::write_file(directory / "x.gz", test::compressed("aabb", true));
  FixedLengthOptions fixed{.files = {directory / "x.gz"}, .record_bytes = 2};
  fixed.range.begin = 1;
  FixedLengthSource source(fixed);
  EXPECT_THAT(error_of([&] { test::read_all(source); }),
              IsError(Code::invalid_argument, HasSubstr("x.gz: a compressed file cannot be read")));
}

}  // namespace
}  // namespace troupe
