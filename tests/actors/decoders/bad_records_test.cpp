#include "troupe/actors/decoders/bad_records.h"

#include "actors/decoders/listed_source.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/decoders/tuple_decoder.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;
using ::testing::StrEq;

class BadRecordsTest : public ::testing::Test {
 protected:
  BadRecordOptions into_file(std::int64_t budget = 10) {
    return {.budget = budget, .quarantine = directory / "bad.txt"};
  }
  std::string quarantined() { return test::read_file(directory / "bad.txt"); }

  test::TemporaryDirectory directory;
};

TEST_F(BadRecordsTest, FailsWithTheFirstWhenThereIsNoBudget) {
  BadRecords bad;
  EXPECT_THAT(error_of([&] { bad.skip(Error(Code::data_loss, "a.csv:1: torn")); }),
              IsError(Code::data_loss, StrEq("a.csv:1: torn")));
}

TEST_F(BadRecordsTest, KeepsThemInAFileWithTheirPlaces) {
  BadRecords bad(into_file());
  bad.skip(Error(Code::invalid_argument, "a.csv:3:5: \"x\" is\nno number"), "1,x\n2");
  bad.skip(Error(Code::invalid_argument, "b.csv:1: got 0 fields"), "");
  EXPECT_EQ(bad.report(),
            "2 bad records were left out, the first: a.csv:3:5: \"x\" is\nno number; " +
                (directory / "bad.txt has 2 of them"));
  EXPECT_EQ(quarantined(), "# a.csv:3:5: \"x\" is no number\n1,x\n2\n# b.csv:1: got 0 fields\n\n");
}

TEST_F(BadRecordsTest, WritesNoMoreThanItMay) {
  auto options = into_file();
  options.max_quarantine_bytes = 25;
  BadRecords bad(options);
  bad.skip(Error(Code::invalid_argument, "a:1: bad"), std::string(100, 'x'));
  bad.skip(Error(Code::invalid_argument, "a:2: bad"), "12345");
  bad.skip(Error(Code::invalid_argument, "a:3: bad"), "12345");
  EXPECT_EQ(bad.count(), 3);
  EXPECT_THAT(bad.report(), HasSubstr("bad.txt has 1 of them"));
  EXPECT_EQ(quarantined(), "# a:2: bad\n12345\n");
}

TEST_F(BadRecordsTest, OverwritesTheFileOfAnEarlierRun) {
  test::write_file(directory / "bad.txt", "old");
  EXPECT_EQ(BadRecords(into_file()).report(), "");
  EXPECT_EQ(quarantined(), "");
}

TEST_F(BadRecordsTest, NamesAFileThatCannotBeWritten) {
  EXPECT_THAT(
      error_of([&] { BadRecords({.budget = 1, .quarantine = directory / "none/bad.txt"}); }),
      IsError(Code::not_found, HasSubstr("none/bad.txt")));
}

TEST_F(BadRecordsTest, GetsTheBytesOfTheRecordFromTheDecoders) {
  test::ListedSource source({"1", "two", "3"}, 3);
  RecordBlock block;
  ASSERT_TRUE(source.read(block.streams, {}));
  const auto bad = std::make_shared<BadRecords>(into_file());
  TupleDecoder tuple({std::make_shared<test::PlainNumberDecoder>()}, bad);
  const auto elements = tuple.decode(block).elements;
  ASSERT_EQ(elements.size(), 2u);
  EXPECT_EQ(elements[1][0], Tensor::scalar<std::int64_t>(3));
  bad->report();
  EXPECT_EQ(quarantined(), "# list:2: \"two\" is not a number\ntwo\n");
}

}  // namespace
}  // namespace troupe
