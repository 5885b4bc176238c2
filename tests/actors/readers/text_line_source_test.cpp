#include "troupe/actors/readers/text_line_source.h"

#include <random>

#include "actors/readers/gzip_file.h"
#include "actors/readers/read_all.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using test::read_all;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TextLineSourceTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view bytes) {
    test::write_file(directory / name, bytes);
    return directory / name;
  }
  std::vector<std::string> lines(std::string_view bytes, TextLineOptions options = {}) {
    options.files = {file("a.txt", bytes)};
    TextLineSource source(options);
    return read_all(source);
  }

  test::TemporaryDirectory directory;
};

// ---- what a line is --------------------------------------------------------------------------

TEST_F(TextLineSourceTest, CutsLinesAtNewlines) {
  EXPECT_THAT(lines("one\ntwo\nthree\n"), ElementsAre("one", "two", "three"));
}

TEST_F(TextLineSourceTest, TakesALastLineWithoutNewline) {
  EXPECT_THAT(lines("one\ntwo"), ElementsAre("one", "two"));
}

TEST_F(TextLineSourceTest, StripsOneCarriageReturn) {
  EXPECT_THAT(lines("one\r\ntwo\r\r\nthree\r"), ElementsAre("one", "two\r", "three"));
}

TEST_F(TextLineSourceTest, KeepsEmptyLinesInTheMiddle) {
  EXPECT_THAT(lines("one\n\n\r\ntwo\n"), ElementsAre("one", "", "", "two"));
}

TEST_F(TextLineSourceTest, SkipsAByteOrderMark) {
  EXPECT_THAT(lines("\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n"), ElementsAre("one", "\xEF\xBB\xBFtwo"));
}

TEST_F(TextLineSourceTest, PassesBinaryJunkOn) {
  using namespace std::string_literals;
  EXPECT_THAT(lines("\0\xFF\n\x80\n"s), ElementsAre("\0\xFF"s, "\x80"s));
}

TEST_F(TextLineSourceTest, SkipsHeaderLinesButCountsThem) {
  TextLineOptions options;
  options.skip_header_lines = 2;
  options.files = {file("a.txt", "x\ny\n1\n2\n"), file("b.txt", "x"), file("c.txt", "x\ny\n3")};
  TextLineSource source(options);
  EXPECT_THAT(test::read_places(source),
              ElementsAre(directory / "a.txt:3", directory / "a.txt:4", directory / "c.txt:3"));
}

TEST_F(TextLineSourceTest, FindsTheSameLinesWhateverTheSizeOfItsBuffer) {
  std::mt19937 random(7);
  std::string bytes;
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    expected.emplace_back(random() % 40, 'a' + static_cast<char>(i % 26));
    bytes += expected.back() + (random() % 2 ? "\n" : "\r\n");
  }
  for (const std::size_t size : {1, 2, 3, 7, 64, 1000, 100000}) {
    TextLineOptions options;
    options.buffer_bytes = size;
    EXPECT_EQ(lines(bytes, options), expected) << "buffer of " << size << " bytes";
  }
}

TEST_F(TextLineSourceTest, RefusesALineThatIsTooLong) {
  TextLineOptions options;
  options.max_line_bytes = 10;
  EXPECT_THAT(lines("0123456789\n", options), ElementsAre("0123456789"));
  for (const std::size_t size : {4, 1000}) {
    options.buffer_bytes = size;
    EXPECT_THAT(
        error_of([&] { lines("short\n0123456789A\n", options); }),
        IsError(Code::resource_exhausted, HasSubstr("a.txt:2: the line is longer than 10 bytes")));
    EXPECT_THAT(error_of([&] { lines(std::string(100, 'x'), options); }),
                IsError(Code::resource_exhausted, HasSubstr("a.txt:1: ")));
  }
}

// ---- blocks ----------------------------------------------------------------------------------

TEST_F(TextLineSourceTest, ReadsNoMoreThanTheLimits) {
  TextLineSource source({.files = {file("a.txt", "1\n2\n3\n4\n5\n")}});
  std::vector<RecordRun> runs;
  ASSERT_TRUE(source.read(runs, {.records = 2}));
  EXPECT_EQ(runs[0].count(), 2u);
  ASSERT_TRUE(source.read(runs, {.bytes = 1}));
  EXPECT_EQ(runs[0].count(), 1u);
  EXPECT_EQ(runs[0].first_record, 3);
}

TEST_F(TextLineSourceTest, SharesItsBufferAmongBlocksAndLeavesRoomAround) {
  TextLineSource source({.files = {file("a.txt", "first\nsecond\n")}});
  std::vector<RecordRun> first, second;
  ASSERT_TRUE(source.read(first, {.records = 1}));
  ASSERT_TRUE(source.read(second, {.records = 1}));
  EXPECT_EQ(first[0].bytes.data(), second[0].bytes.data());
  EXPECT_GE(first[0].begins[0], 64u);
  EXPECT_GE(first[0].bytes.size(), second[0].ends[0] + 64);
}

TEST_F(TextLineSourceTest, NeverMixesTwoFilesInABlock) {
  TextLineSource source({.files = {file("a.txt", "1\n2\n"), file("b.txt", "3\n")}});
  std::vector<RecordRun> runs;
  ASSERT_TRUE(source.read(runs, {}));
  EXPECT_EQ(runs[0].count(), 2u);
  ASSERT_TRUE(source.read(runs, {}));
  EXPECT_EQ(runs[0].place(0), directory / "b.txt:1");
  EXPECT_FALSE(source.read(runs, {}));
}

// ---- files -----------------------------------------------------------------------------------

TEST_F(TextLineSourceTest, ExpandsPatternsInTheOrderOfNames) {
  file("x-2.txt", "2\n");
  file("x-1.txt", "1\n");
  file("y.txt", "0\n");
  TextLineSource source({.files = {directory / "y.txt", directory / "x-*.txt"}});
  EXPECT_THAT(read_all(source), ElementsAre("0", "1", "2"));
}

TEST_F(TextLineSourceTest, NamesAFileThatIsNotThere) {
  EXPECT_THAT(error_of([&] { TextLineSource({.files = {directory / "none.txt"}}); }),
              IsError(Code::not_found, HasSubstr("none.txt: No such file")));
  EXPECT_THAT(error_of([&] { TextLineSource({.files = {directory / "*.csv"}}); }),
              IsError(Code::not_found, HasSubstr("no file matches")));
  EXPECT_THAT(error_of([&] { TextLineSource({.files = {directory.path()}}); }),
              IsError(Code::invalid_argument, HasSubstr("it is a directory")));
  EXPECT_THAT(error_of([&] { TextLineSource({}); }),
              IsError(Code::invalid_argument, HasSubstr("at least one file")));
}

TEST_F(TextLineSourceTest, RefusesToFindNothing) {
  TextLineOptions options;
  options.files = {file("a.txt", ""), file("b.txt", "")};
  TextLineSource source(options);
  EXPECT_THAT(error_of([&] { read_all(source); }),
              IsError(Code::invalid_argument, HasSubstr("0 records in lines of 2 files")));
  options.allow_empty = true;
  TextLineSource patient(options);
  EXPECT_THAT(read_all(patient), IsEmpty());
}

TEST_F(TextLineSourceTest, ReadsGzip) {
  std::string bytes;
  for (int i = 0; i < 10000; ++i) bytes += std::to_string(i) + "\n";
  test::write_gzip(directory / "a.txt.gz", bytes);
  TextLineOptions options;
  options.files = {directory / "a.txt.gz"};
  options.buffer_bytes = 1000;
  TextLineSource source(options);
  const auto all = read_all(source);
  ASSERT_EQ(all.size(), 10000u);
  EXPECT_EQ(all[9999], "9999");
}

TEST_F(TextLineSourceTest, NoticesAGzipFileThatIsCutShortOrDamaged) {
  std::mt19937 random(3);
  std::string bytes;
  for (int i = 0; i < 10000; ++i) bytes += std::to_string(random()) + "\n";
  const auto path = directory / "a.txt.gz";
  test::write_gzip(path, bytes);
  const auto whole = test::read_file(path);
  const auto reading = [&] {
    TextLineSource source({.files = {path}});
    read_all(source);
  };
  test::write_file(path, whole.substr(0, whole.size() / 2));
  EXPECT_THAT(error_of(reading), IsError(Code::data_loss, HasSubstr("cut short after")));
  auto damaged = whole;
  damaged[whole.size() / 2] ^= 0x55;
  test::write_file(path, damaged);
  EXPECT_THAT(error_of(reading), IsError(Code::data_loss, HasSubstr("a.txt.gz")));
  test::write_file(path, "plain text\n");
  EXPECT_THAT(error_of(reading), IsError(Code::data_loss, HasSubstr("not gzip data")));
}

// ---- position --------------------------------------------------------------------------------

TEST_F(TextLineSourceTest, GoesOnFromAnyPosition) {
  TextLineOptions options;
  options.files = {file("a.txt", "h\r\n1\n2\r\n\n3"), file("b.txt", "h\n4\n5\n")};
  options.skip_header_lines = 1;
  options.buffer_bytes = 3;
  TextLineSource source(options);
  const auto all = read_all(source);
  ASSERT_EQ(all.size(), 6u);
  source.restart({});
  std::vector<RecordRun> runs;
  for (std::size_t done = 0; done <= all.size(); ++done) {
    TextLineSource other(options);
    other.seek(SourcePosition::parse(source.position().str()));
    EXPECT_EQ(read_all(other), (std::vector<std::string>(all.begin() + done, all.end())));
    EXPECT_EQ(source.read(runs, {.records = 1}), done < all.size());
  }
}

TEST_F(TextLineSourceTest, ReadsFilesInAnotherOrderWhenAsked) {
  TextLineSource source({.files = {file("a.txt", "1\n"), file("b.txt", "2\n")}});
  source.restart(std::vector<std::size_t>{1, 0});
  EXPECT_THAT(read_all(source), ElementsAre("2", "1"));
  EXPECT_THROW(source.restart(std::vector<std::size_t>{1, 1}), Error);
}

TEST(SourcePosition, SurvivesAsText) {
  SourcePosition position{3, {{1, 2, 3, 4}, {5, 6, 7, 8}}};
  EXPECT_EQ(SourcePosition::parse(position.str()), position);
  EXPECT_THAT(error_of([] { SourcePosition::parse("epoch 1; file x"); }),
              IsError(Code::data_loss, HasSubstr("not the position of a reader")));
}

}  // namespace
}  // namespace troupe
