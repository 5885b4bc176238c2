#include "troupe/actors/readers/idx_format.h"

#include "actors/readers/gzip_file.h"
#include "actors/readers/idx_bytes.h"
#include "actors/readers/read_all.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/readers/array_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::idx_bytes;
using test::IsError;
using test::read_all;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class IdxFormatTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& bytes) {
    test::write_file(directory / name, bytes);
    return directory / name;
  }
  Error opening(const std::string& bytes) {
    return error_of([&] { ArraySource({.files = {file("x.idx", bytes)}}, idx_format()); });
  }
  test::TemporaryDirectory directory;
};

TEST_F(IdxFormatTest, GivesTheItemsAlongTheFirstAxis) {
  ArraySource source({.files = {file("x.idx", idx_bytes(0x08, {3, 2}, "aabbcc"))}}, idx_format());
  EXPECT_EQ(source.header().dtype, DType::uint8);
  EXPECT_EQ(source.header().count, 3);
  EXPECT_EQ(source.header().item, Shape({2}));
  EXPECT_THAT(read_all(source, {.records = 2}), ElementsAre("aa", "bb", "cc"));
}

TEST_F(IdxFormatTest, NumbersItemsFromOneInEachFile) {
  ArraySource source({.files = {file("x.idx", idx_bytes(0x08, {2}, "ab")),
                                file("y.idx", idx_bytes(0x08, {1}, "c"))}},
                     idx_format());
  EXPECT_THAT(test::read_places(source),
              ElementsAre(directory / "x.idx:1", directory / "x.idx:2", directory / "y.idx:1"));
}

TEST_F(IdxFormatTest, LimitsBlocksByBytes) {
  ArraySource source({.files = {file("x.idx", idx_bytes(0x08, {4, 2}, "aabbccdd"))}}, idx_format());
  std::vector<RecordRun> runs;
  ASSERT_TRUE(source.read(runs, {.records = 10, .bytes = 5}));
  EXPECT_EQ(runs[0].count(), 2u);
}

TEST_F(IdxFormatTest, ReadsGzip) {
  test::write_gzip(directory / "x.gz", idx_bytes(0x08, {2, 2}, "aabb"));
  ArraySource source({.files = {directory / "x.gz"}}, idx_format());
  EXPECT_THAT(read_all(source), ElementsAre("aa", "bb"));
}

TEST_F(IdxFormatTest, KnowsADtypeByItsCode) {
  const std::vector<std::pair<int, DType>> codes = {{0x08, DType::uint8},   {0x09, DType::int8},
                                                    {0x0B, DType::int16},   {0x0C, DType::int32},
                                                    {0x0D, DType::float32}, {0x0E, DType::float64}};
  for (const auto& [code, dtype] : codes) {
    ArraySource source(
        {.files = {file("x.idx", idx_bytes(code, {1}, std::string(size_of(dtype), 0)))}},
        idx_format());
    EXPECT_EQ(source.header().dtype, dtype);
  }
  EXPECT_THAT(opening(idx_bytes(0x0A, {1}, "a")),
              IsError(Code::data_loss, HasSubstr("but 10 stands for none")));
}

TEST_F(IdxFormatTest, RefusesWhatIsNotIdx) {
  EXPECT_THAT(opening("1 2 3\n"), IsError(Code::data_loss, HasSubstr("not an IDX file")));
  EXPECT_THAT(opening(""),
              IsError(Code::data_loss, HasSubstr("ends at byte 0, inside its header")));
  EXPECT_THAT(opening(idx_bytes(0x08, {2, 2}, "").substr(0, 9)),
              IsError(Code::data_loss, HasSubstr("ends at byte 9")));
  EXPECT_THAT(opening(idx_bytes(0x08, {}, "")), IsError(Code::data_loss, HasSubstr("rank 0")));
  EXPECT_THAT(opening(idx_bytes(0x08, std::vector<std::uint32_t>(200, 1), "a")),
              IsError(Code::data_loss, HasSubstr("rank 200")));
}

TEST_F(IdxFormatTest, ComparesTheSizeOfTheFileWithTheHeader) {
  EXPECT_THAT(
      opening(idx_bytes(0x08, {3, 2}, "aabbc")),
      IsError(Code::data_loss, HasSubstr("promises 3 items of uint8 [2], which take 18 bytes, but "
                                         "there are 17")));
  EXPECT_THAT(opening(idx_bytes(0x08, {3, 2}, "aabbccd")),
              IsError(Code::data_loss, HasSubstr("but there are 19")));
}

TEST_F(IdxFormatTest, RefusesItemsThatHoldNothing) {
  for (const auto& extents : {std::vector{5u, 0u}, std::vector{5u, 2u, 0u}, std::vector{0u, 0u}})
    EXPECT_THAT(opening(idx_bytes(0x08, extents, "")),
                IsError(Code::invalid_argument, HasSubstr(", hold no value")));
}

TEST_F(IdxFormatTest, RefusesAbsurdExtents) {
  constexpr auto kMost = 0xFFFFFFFFu;
  for (const auto& extents : {std::vector{kMost, kMost, kMost}, std::vector{1u, kMost},
                              std::vector{kMost, 0x10000u, 0x10000u, 0x10000u, 0x10000u}})
    EXPECT_THAT(opening(idx_bytes(0x0E, extents, "")),
                IsError(Code::data_loss, HasSubstr("items of more than")));
  EXPECT_THAT(opening(idx_bytes(0x0E, {kMost, 1000}, "")),
              IsError(Code::data_loss, HasSubstr("promises 4294967295 items")));
}

TEST_F(IdxFormatTest, NoticesCompressedDataThatEndsEarly) {
  test::write_gzip(directory / "x.gz", idx_bytes(0x08, {3, 2}, "aabbc"));
  ArraySource source({.files = {directory / "x.gz"}}, idx_format());
  EXPECT_THAT(error_of([&] { read_all(source); }),
              IsError(Code::data_loss, HasSubstr("the data end at byte 17, in item 3 of 3")));
}

TEST_F(IdxFormatTest, GivesTheItemsInFrontOfDamage) {
  test::write_gzip(directory / "x.gz", idx_bytes(0x08, {3, 2}, "aabbc"));
  FilesOptions options{
      .files = {directory / "x.gz", file("y", "IDX?"), file("z", idx_bytes(0x08, {1, 2}, "dd"))}};
  options.policy.damaged = FileAction::skip;
  ArraySource source(options, idx_format());
  EXPECT_THAT(read_all(source), ElementsAre("aa", "bb", "dd"));
  EXPECT_THAT(source.report(), HasSubstr("2 files were left out"));
}

TEST_F(IdxFormatTest, WantsTheSameItemsInAllFiles) {
  const std::vector<std::string> files = {file("x.idx", idx_bytes(0x08, {1, 2}, "aa")),
                                          file("y.idx", idx_bytes(0x08, {1, 3}, "bbb"))};
  EXPECT_THAT(error_of([&] { ArraySource({.files = files}, idx_format()); }),
              IsError(Code::invalid_argument, HasSubstr("y.idx holds items of uint8 [3], but ")));
}

TEST_F(IdxFormatTest, RefusesToFindNothing) {
  ArraySource source({.files = {file("x.idx", idx_bytes(0x08, {0, 2}, ""))}}, idx_format());
  EXPECT_THAT(error_of([&] { read_all(source); }),
              IsError(Code::invalid_argument, HasSubstr("0 records in items of")));
}

TEST_F(IdxFormatTest, GoesOnFromAnyPosition) {
  test::write_gzip(directory / "y.gz", idx_bytes(0x08, {2, 2}, "ddee"));
  const FilesOptions options{
      .files = {file("x.idx", idx_bytes(0x08, {3, 2}, "aabbcc")), directory / "y.gz"}};
  ArraySource source(options, idx_format());
  const auto all = read_all(source);
  source.restart({});
  std::vector<RecordRun> runs;
  for (std::size_t done = 0; done <= all.size(); ++done) {
    ArraySource other(options, idx_format());
    other.seek(source.position());
    EXPECT_EQ(read_all(other), (std::vector<std::string>(all.begin() + done, all.end())));
    EXPECT_EQ(source.read(runs, {.records = 1}), done < all.size());
  }
}

}  // namespace
}  // namespace troupe
