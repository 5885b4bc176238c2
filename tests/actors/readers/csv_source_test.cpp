#include "troupe/actors/readers/csv_source.h"

#include <random>

#include "actors/readers/gzip_file.h"
#include "actors/readers/read_all.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/readers/zip_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using test::read_all;
using test::read_places;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CsvSourceTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view bytes) {
    test::write_file(directory / name, bytes);
    return directory / name;
  }
  CsvSource source(std::string_view bytes, CsvOptions options = {}) {
    options.files = {file("a.csv", bytes)};
    return CsvSource(options);
  }
  std::vector<std::string> records(std::string_view bytes, const CsvOptions& options = {}) {
    auto csv = source(bytes, options);
    return read_all(csv);
  }
  /// Lines in which records start.
  std::vector<std::string> lines(std::string_view bytes, const CsvOptions& options = {}) {
    auto csv = source(bytes, options);
    auto places = read_places(csv);
    for (auto& place : places) place = place.substr(place.rfind(':') + 1);
    return places;
  }
  Error failure(std::string_view bytes, const CsvOptions& options = {}) {
    return error_of([&] { records(bytes, options); });
  }

  test::TemporaryDirectory directory;
};

// ---- what a record is ------------------------------------------------------------------------

TEST_F(CsvSourceTest, CutsRecordsAtTheEndsOfLines) {
  EXPECT_THAT(records("1,2\n3,4\r\n5,6"), ElementsAre("1,2", "3,4", "5,6"));
  EXPECT_THAT(records("1\r\r\n\n2\r"), ElementsAre("1\r", "", "2"));
}

TEST_F(CsvSourceTest, KeepsNewlinesInsideQuotes) {
  EXPECT_THAT(records("1,\"a\nb\r\nc\"\n\"\n\",2\r\n3\n"),
              ElementsAre("1,\"a\nb\r\nc\"", "\"\n\",2", "3"));
}

TEST_F(CsvSourceTest, KnowsDoubledQuotes) {
  EXPECT_THAT(records("\"a\"\"\n\"\"b\"\n\"\"\"\"\nc\n"),
              ElementsAre("\"a\"\"\n\"\"b\"", "\"\"\"\"", "c"));
}

TEST_F(CsvSourceTest, DoesNotLetAStrayQuoteSwallowWhatFollows) {
  EXPECT_THAT(records("5\" x 7\",a\nb\"\n\"c\"d\"\n \"e\n\"f\ng\"\n"),
              ElementsAre("5\" x 7\",a", "b\"", "\"c\"d\"", " \"e", "\"f\ng\""));
}

TEST_F(CsvSourceTest, TakesQuotesAsCharactersWhenAsked) {
  EXPECT_THAT(records("\"a\nb\"\n", {.syntax = {.quotes = false}}), ElementsAre("\"a", "b\""));
}

TEST_F(CsvSourceTest, KnowsWhereAFieldStartsFromTheDelimiter) {
  EXPECT_THAT(records("a;\"b\nc\"\nd,\"e\nf\n", {.syntax = {.delimiter = ';'}}),
              ElementsAre("a;\"b\nc\"", "d,\"e", "f"));
}

TEST_F(CsvSourceTest, SkipsAByteOrderMark) {
  EXPECT_THAT(records("\xEF\xBB\xBF\"a\nb\"\n\xEF\xBB\xBF"
                      "c\n"),
              ElementsAre("\"a\nb\"",
                          "\xEF\xBB\xBF"
                          "c"));
}

TEST_F(CsvSourceTest, PassesBinaryJunkOn) {
  using namespace std::string_literals;
  EXPECT_THAT(records("\0\xFF,\n\x80\"\n"s), ElementsAre("\0\xFF,"s, "\x80\""s));
}

TEST_F(CsvSourceTest, SkipsBlankLinesWhenAsked) {
  const CsvOptions options{.skip_blank_lines = true};
  EXPECT_THAT(records("\n\r\n1\n\n\n2\n\n\"\n\"\n\n", options), ElementsAre("1", "2", "\"\n\""));
  EXPECT_THAT(lines("\n\r\n1\n\n\n2\n\n\"\n\"\n\n", options), ElementsAre("3", "6", "8"));
  EXPECT_THAT(records("1\n\r", options), ElementsAre("1"));
}

TEST_F(CsvSourceTest, FindsTheSameRecordsWhateverTheSizeOfItsBufferAndOfTheBlocks) {
  std::mt19937 random(7);
  std::string bytes;
  std::vector<std::string> expected;
  for (int i = 0; i < 400; ++i) {
    std::string record(random() % 40, 'a' + static_cast<char>(i % 26));
    if (random() % 3 == 0) record += ",\"" + std::string(random() % 5, '\n') + "x\"\"y\"";
    if (random() % 9 == 0) record += ",5\"";
    expected.push_back(record);
    bytes += record + (random() % 2 ? "\n" : "\r\n");
  }
  for (const std::size_t size : {1, 2, 3, 7, 64, 1000, 100000}) {
    for (const std::size_t most : {1, 3, 64, 5000}) {
      auto csv = source(bytes, {.buffer_bytes = size});
      EXPECT_EQ(read_all(csv, {.records = most, .bytes = size}), expected)
          << "buffer of " << size << " bytes, blocks of " << most;
    }
  }
}

// ---- lines -----------------------------------------------------------------------------------

TEST_F(CsvSourceTest, NumbersRecordsByTheLineInWhichTheyStart) {
  EXPECT_THAT(lines("a\n\"b\n\nc\"\nd\ne\",\nf\n\"\n\""),
              ElementsAre("1", "2", "5", "6", "7", "8"));
  EXPECT_THAT(lines("a\n\"b\n\nc\"\nd\ne\",\nf\n", {.buffer_bytes = 1}),
              ElementsAre("1", "2", "5", "6", "7"));
}

TEST_F(CsvSourceTest, KeepsTheNumbersWhenItIsZipped) {
  std::vector<std::unique_ptr<RecordSource>> both;
  both.push_back(std::make_unique<CsvSource>(
      CsvOptions{.files = {file("x.csv", "1\n\"\n\"\n3\n\"\n\"\n5\n")}}));
  both.push_back(
      std::make_unique<CsvSource>(CsvOptions{.files = {file("y.csv", "\"\n\n\"\n2\n3\n4\n5\n")}}));
  ZipSource zip(std::move(both));
  std::vector<RecordRun> runs;
  std::vector<std::string> places;
  while (zip.read(runs, {.records = 2}))
    for (std::size_t i = 0; i < runs[0].count(); ++i)
      places.push_back(std::to_string(runs[0].number_of(i)) + "+" +
                       std::to_string(runs[1].number_of(i)));
  EXPECT_THAT(places, ElementsAre("1+1", "2+4", "4+5", "5+6", "7+7"));
}

// ---- headers ---------------------------------------------------------------------------------

TEST_F(CsvSourceTest, ReadsTheNamesInTheHeaderOfEachFile) {
  CsvSource csv({.files = {file("a.csv", "x,\"y \"\"z\"\"\n\",\r\n1\n"),
                           file("b.csv", "x,\"y \"\"z\"\"\n\",\n2\n")},
                 .header = true});
  EXPECT_THAT(csv.header(), IsEmpty()) << "nothing has been read yet";
  EXPECT_THAT(read_places(csv), ElementsAre(directory / "a.csv:3", directory / "b.csv:3"));
  EXPECT_THAT(csv.header(), ElementsAre("x", "y \"z\"\n", ""));
}

TEST_F(CsvSourceTest, SkipsLinesInFrontOfTheHeader) {
  auto csv = source("say \"\nmore\nx,y\n1,2\n", {.header = true, .skip_lines = 2});
  EXPECT_THAT(read_all(csv), ElementsAre("1,2"));
  EXPECT_THAT(csv.header(), ElementsAre("x", "y"));
  EXPECT_THAT(lines("a\nb\nc\n", {.skip_lines = 2, .buffer_bytes = 1}), ElementsAre("3"));
  EXPECT_THAT(records("a\nb", {.skip_lines = 2, .allow_empty = true}), IsEmpty());
}

TEST_F(CsvSourceTest, RefusesAFileWithAnotherHeader) {
  const auto reading = [&](std::string_view second) {
    CsvSource csv(
        {.files = {file("a.csv", "x,price\n1,2\n"), file("b.csv", second)}, .header = true});
    return error_of([&] { read_all(csv); });
  };
  EXPECT_THAT(reading("x,prize\n"),
              IsError(Code::data_loss,
                      AllOf(HasSubstr("b.csv:1: column #1 of the header is \"prize\", but"),
                            HasSubstr("a.csv has \"price\" there"))));
  EXPECT_THAT(reading("x\n"), IsError(Code::data_loss, HasSubstr("is missing, but")));
  EXPECT_THAT(reading("x,price,z\n"), IsError(Code::data_loss, HasSubstr("has missing there")));
}

TEST_F(CsvSourceTest, LeavesEmptyFilesOutWhateverTheirHeader) {
  CsvSource csv({.files = {file("a.csv", ""), file("b.csv", "x\n1\n"),
                           file("c.csv", "\xEF\xBB\xBF"), file("d.csv", "x\n")},
                 .header = true});
  EXPECT_THAT(read_all(csv), ElementsAre("1"));
}

TEST_F(CsvSourceTest, RefusesAHeaderThatIsNone) {
  const auto reading = [&](std::string_view bytes) { return failure(bytes, {.header = true}); };
  EXPECT_THAT(reading("\n1\n"),
              IsError(Code::data_loss, HasSubstr("a.csv:1: the header is a blank")));
  EXPECT_THAT(reading("x,y\"\n"), IsError(Code::data_loss, HasSubstr("a.csv:1:3: column #1")));
  EXPECT_THAT(reading("x,y\n"), IsError(Code::invalid_argument, HasSubstr("0 records in CSV")));
}

// ---- bounds ----------------------------------------------------------------------------------

TEST_F(CsvSourceTest, RefusesARecordThatIsTooLong) {
  const CsvOptions options{.max_record_bytes = 10, .buffer_bytes = 4};
  EXPECT_THAT(records("0123456789\n", options), ElementsAre("0123456789"));
  EXPECT_THAT(failure("short\n0123456789A\n", options),
              IsError(Code::resource_exhausted,
                      HasSubstr("a.csv:2: the record is longer than 10 bytes (CsvOptions::max")));
  EXPECT_THAT(failure("short\n0123456789A\n", {.max_record_bytes = 10}),
              IsError(Code::resource_exhausted, HasSubstr("a.csv:2: the record is longer")));
}

TEST_F(CsvSourceTest, SaysWhereTheQuoteIsThatMakesARecordTooLong) {
  for (const std::size_t size : {8, 100000})
    EXPECT_THAT(failure("1\n2,\"a\nb\",\"c\n" + std::string(1000, 'x') + "\n",
                        {.max_record_bytes = 100, .buffer_bytes = size}),
                IsError(Code::resource_exhausted,
                        AllOf(HasSubstr("a.csv:2: the record is longer"),
                              HasSubstr("a quote is open since line 3, column 4"))));
}

TEST_F(CsvSourceTest, RefusesAnEndlessLineBeforeItTakesMuchMemory) {
  EXPECT_THAT(failure(std::string(std::size_t{3} << 20, 'x'), {.max_record_bytes = 1 << 20}),
              IsError(Code::resource_exhausted, HasSubstr("a.csv:1: ")));
}

TEST_F(CsvSourceTest, RefusesAQuoteThatIsNeverClosed) {
  EXPECT_THAT(
      failure("1\n\"a\",\"b\"\"\n2\n"),
      IsError(Code::data_loss, AllOf(HasSubstr("a.csv:2: the file ends inside of a quoted field"),
                                     HasSubstr("the quote in line 2, column 5 is never closed"))));
  EXPECT_THAT(failure("\"a\n\",\"\n\n", {.buffer_bytes = 1}),
              IsError(Code::data_loss, HasSubstr("the quote in line 2, column 3 is never")));
}

TEST_F(CsvSourceTest, SurvivesRandomBytes) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string junk(random() % 500, '\0');
    for (auto& c : junk) c = round % 2 ? static_cast<char>(random()) : "\"\",\n\r\0a"[random() % 7];
    CsvOptions options{.allow_empty = true};
    options.buffer_bytes = 1 + random() % 200;
    try {
      std::size_t bytes = 0;
      for (const auto& record : records(junk, options)) bytes += record.size() + 1;
      EXPECT_LE(bytes, junk.size() + 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::data_loss) << error.what();
    }
  }
}

TEST_F(CsvSourceTest, RefusesOptionsThatMakeNoSense) {
  const auto opening = [&](const CsvOptions& options) {
    return error_of([&] { source("1\n", options); });
  };
  for (const char delimiter : {'"', '\n', '\r'})
    EXPECT_THAT(opening({.syntax = {.delimiter = delimiter}}),
                IsError(Code::invalid_argument, HasSubstr("cannot stand between")));
  EXPECT_THAT(opening({.skip_lines = -1}), IsError(Code::invalid_argument, HasSubstr("not -1")));
  EXPECT_THAT(opening({.max_record_bytes = 0}),
              IsError(Code::invalid_argument, HasSubstr("max_record_bytes")));
  EXPECT_THAT(failure(""), IsError(Code::invalid_argument, HasSubstr("0 records in CSV records")));
}

// ---- files and positions ---------------------------------------------------------------------

TEST_F(CsvSourceTest, ReadsGzip) {
  std::string bytes;
  for (int i = 0; i < 10000; ++i) bytes += std::to_string(i) + ",\"\n\"\n";
  test::write_gzip(directory / "a.csv.gz", bytes);
  CsvSource csv({.files = {directory / "a.csv.gz"}, .buffer_bytes = 1000});
  const auto all = read_all(csv);
  ASSERT_EQ(all.size(), 10000u);
  EXPECT_EQ(all[9999], "9999,\"\n\"");
}

TEST_F(CsvSourceTest, GoesOnFromAnyPosition) {
  CsvOptions options;
  options.files = {file("a.csv", "x\r\n1\n\"2\n\n2\"\r\n\n\n3\"\n4"),
                   file("b.csv", "\xEF\xBB\xBFx\n\"5\n\"\n6\n")};
  options.header = true;
  options.skip_blank_lines = true;
  options.buffer_bytes = 3;
  CsvSource csv(options);
  const auto all = read_all(csv);
  csv.restart({});
  const auto places = read_places(csv);
  ASSERT_EQ(all.size(), 6u);
  csv.restart({});
  std::vector<RecordRun> runs;
  for (std::size_t done = 0; done <= all.size(); ++done) {
    const auto position = SourcePosition::parse(csv.position().str());
    CsvSource other(options);
    other.seek(position);
    EXPECT_EQ(read_all(other), (std::vector<std::string>(all.begin() + done, all.end())));
    other.seek(position);
    EXPECT_EQ(read_places(other), (std::vector<std::string>(places.begin() + done, places.end())));
    EXPECT_EQ(csv.read(runs, {.records = 1}), done < all.size());
  }
}

TEST_F(CsvSourceTest, SkipsRecordsOfAPositionThatAZipHasGivenOut) {
  auto csv = source("1\n\"\n2\"\n3\n");
  csv.seek({0, {{.file = 0, .offset = 2, .record = 2, .skip = 1}}});
  EXPECT_THAT(read_places(csv), ElementsAre(directory / "a.csv:4"));
  EXPECT_THAT(error_of([&] {
                csv.seek({0, {{.file = 0, .skip = 9}}});
              }),
              IsError(Code::data_loss, HasSubstr("the data end 6 records before")));
  EXPECT_THAT(error_of([&] {
                csv.seek({0, {{.file = 1, .offset = 3}}});
              }),
              IsError(Code::invalid_argument, HasSubstr("cannot read")));
}

TEST_F(CsvSourceTest, GivesTheRecordsInFrontOfDamageFirst) {
  auto csv = source("1\n2\n0123456789A\n", {.max_record_bytes = 10});
  std::vector<RecordRun> runs;
  ASSERT_TRUE(csv.read(runs, {}));
  EXPECT_EQ(runs[0].count(), 2u);
  EXPECT_THAT(error_of([&] { csv.read(runs, {}); }),
              IsError(Code::resource_exhausted, HasSubstr("a.csv:3: ")));
}

TEST_F(CsvSourceTest, LeavesDamagedFilesOutAsThePolicySays) {
  CsvOptions options;
  options.files = {file("a.csv", "1\n\"2\n"), file("b.csv", "3\n")};
  options.policy.damaged = FileAction::skip;
  CsvSource csv(options);
  EXPECT_THAT(read_all(csv), ElementsAre("1", "3"));
  EXPECT_THAT(csv.report(), HasSubstr("is never closed"));
}

TEST_F(CsvSourceTest, KnowsTheLinesOfSeveralFilesInOneRun) {
  CsvSource csv({.files = {file("a.csv", "1\n\"\n\"\n4\n"), file("b.csv", "1\n\"\n\"\n4\n")}});
  std::vector<RecordRun> runs;
  ASSERT_TRUE(csv.read(runs, {.records = 5, .cross_files = true}));
  ASSERT_EQ(runs[0].count(), 5u);
  EXPECT_EQ(runs[0].place(2), directory / "a.csv:4");
  EXPECT_EQ(runs[0].place(4), directory / "b.csv:2");
}

TEST_F(CsvSourceTest, ReadsFilesInAnotherOrderWhenAsked) {
  CsvSource csv({.files = {file("a.csv", "x\n1\n"), file("b.csv", "x\n2\n")}, .header = true});
  csv.restart(std::vector<std::size_t>{1, 0});
  EXPECT_THAT(read_all(csv), ElementsAre("2", "1"));
}

}  // namespace
}  // namespace troupe
