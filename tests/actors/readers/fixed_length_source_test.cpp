#include "troupe/actors/readers/fixed_length_source.h"

#include "actors/readers/read_all.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "support/reference_file.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using test::read_all;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FixedLengthSourceTest : public ::testing::Test {
 protected:
  std::vector<std::string> read(const std::string& bytes, FixedLengthOptions options) {
    test::write_file(directory / "x.bin", bytes);
    options.files = {directory / "x.bin"};
    options.allow_empty = true;
    FixedLengthSource source(options);
    return read_all(source);
  }
  Error failure(const std::string& bytes, const FixedLengthOptions& options) {
    return error_of([&] { read(bytes, options); });
  }
  test::TemporaryDirectory directory;
};

TEST_F(FixedLengthSourceTest, LeavesHeaderAndFooterOut) {
  EXPECT_THAT(read("HHaabbccF", {.record_bytes = 2, .header_bytes = 2, .footer_bytes = 1}),
              ElementsAre("aa", "bb", "cc"));
}

TEST_F(FixedLengthSourceTest, HopsLessOrMoreThanARecord) {
  EXPECT_THAT(read("abcdef", {.record_bytes = 4, .hop_bytes = 1}),
              ElementsAre("abcd", "bcde", "cdef"));
  EXPECT_THAT(read("abcdefgh", {.record_bytes = 2, .hop_bytes = 3}), ElementsAre("ab", "de", "gh"));
}

TEST_F(FixedLengthSourceTest, ReadsCompressedFiles) {
  EXPECT_THAT(read(test::compressed("HaabbF", false), {.record_bytes = 2,
                                                       .header_bytes = 1,
                                                       .footer_bytes = 1,
                                                       .compression = Compression::zlib}),
              ElementsAre("aa", "bb"));
}

TEST_F(FixedLengthSourceTest, NumbersRecordsFromOneInEachFile) {
  test::write_file(directory / "a", "aabb");
  test::write_file(directory / "b", "cc");
  FixedLengthSource source({.files = {directory / "a", directory / "b"}, .record_bytes = 2});
  EXPECT_THAT(test::read_with_places(source), ElementsAre("a:1 aa", "a:2 bb", "b:1 cc"));
}

TEST_F(FixedLengthSourceTest, NamesARecordThatIsNotWhole) {
  EXPECT_THAT(
      failure("HHaabbc", {.record_bytes = 2, .header_bytes = 2}),
      IsError(Code::data_loss,
              HasSubstr("x.bin: ends with a part of a record: record 3 should begin at byte "
                        "6 and have 2 bytes, but the file ends at 7")));
  EXPECT_THAT(failure("aabbF", {.record_bytes = 2, .footer_bytes = 2}),
              IsError(Code::data_loss, HasSubstr("before a footer of 2")));
  EXPECT_THAT(failure("HH", {.record_bytes = 2, .header_bytes = 4}),
              IsError(Code::data_loss, HasSubstr("2 bytes, fewer than its header of 4")));
}

TEST_F(FixedLengthSourceTest, TakesAFileWithoutAByteForOneWithoutRecords) {
  EXPECT_THAT(read("", {.record_bytes = 2, .header_bytes = 4, .footer_bytes = 4}), IsEmpty());
}

/// The value of each byte is its position.
TEST_F(FixedLengthSourceTest, ReadsTheRecordsThatTensorFlowReads) {
  const auto cases = test::read_references(TROUPE_TEST_DATA "/records/fixed_length.txt");
  EXPECT_GT(cases.size(), 30u);
  for (const auto& c : cases) {
    std::string bytes;
    for (std::int64_t i = 0; i < c.integer("size"); ++i) bytes += static_cast<char>(i);
    FixedLengthOptions options;
    const auto size = [&](const char* key) { return static_cast<std::size_t>(c.integer(key)); };
    options.record_bytes = size("record");
    options.header_bytes = size("header");
    options.footer_bytes = size("footer");
    options.hop_bytes = size("hop");
    options.buffer_bytes = 8;
    options.policy.damaged = FileAction::skip;  // TensorFlow passes over what is left
    std::vector<std::int64_t> starts;
    for (const auto& record : read(bytes, options)) {
      EXPECT_EQ(record.size(), options.record_bytes);
      starts.push_back(static_cast<unsigned char>(record[0]));
    }
    const auto expected = c.tensor("starts").read<std::int64_t>();
    EXPECT_EQ(starts, std::vector<std::int64_t>(expected.begin(), expected.end())) << c.name;
  }
}

TEST(FixedLengthSource, RefusesSizesThatMakeNoSense) {
  EXPECT_THAT(error_of([] { FixedLengthSource({.files = {"/dev/null"}}); }),
              IsError(Code::invalid_argument, HasSubstr("record_bytes must be at least 1")));
  EXPECT_THAT(error_of([] {
                FixedLengthSource(
                    {.files = {"/dev/null"}, .record_bytes = 1, .hop_bytes = std::size_t{1} << 40});
              }),
              IsError(Code::invalid_argument, HasSubstr("may be up to")));
}

}  // namespace
}  // namespace troupe
