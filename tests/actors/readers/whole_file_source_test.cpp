#include "troupe/actors/readers/whole_file_source.h"

#include "actors/readers/read_all.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WholeFileSourceTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view bytes) {
    test::write_file(directory / name, bytes);
    return directory / name;
  }
  test::TemporaryDirectory directory;
};

TEST_F(WholeFileSourceTest, MakesEachFileARecord) {
  WholeFileSource source({.files = {file("a", "one\ntwo\n"), file("b", ""), file("c", "3")}});
  EXPECT_THAT(test::read_with_places(source), ElementsAre("a one\ntwo\n", "b ", "c 3"));
}

TEST_F(WholeFileSourceTest, ReadsFilesThatAreLargerThanItsBuffer) {
  const std::string bytes(200'000, 'x');
  WholeFileSource source(
      {.files = {file("a", bytes), file("a.gz", test::compressed(bytes + "y", true))}});
  EXPECT_THAT(test::read_all(source), ElementsAre(bytes, bytes + "y"));
}

TEST_F(WholeFileSourceTest, LetsFilesTravelTogetherWhenAsked) {
  WholeFileSource source({.files = {file("a", "1"), file("b", "2"), file("c", "3")}});
  std::vector<RecordRun> runs;
  ASSERT_TRUE(source.read(runs, {}));
  EXPECT_EQ(runs[0].count(), 1u);
  ASSERT_TRUE(source.read(runs, {.cross_files = true}));
  EXPECT_EQ(runs[0].count(), 2u);
  EXPECT_EQ(runs[0].place(0), directory / "b");
  EXPECT_EQ(runs[0].place(1), directory / "c");
}

TEST_F(WholeFileSourceTest, RefusesAFileThatIsTooLarge) {
  const std::string bytes(1000, 'x');
  for (const auto& path : {file("a", bytes), file("a.gz", test::compressed(bytes, true))}) {
    WholeFileSource source({.files = {path}, .max_file_bytes = 999});
    EXPECT_THAT(
        error_of([&] { test::read_all(source); }),
        IsError(Code::resource_exhausted, HasSubstr(path + ": the file is larger than 999")));
  }
  EXPECT_THROW(WholeFileSource({.files = {"/dev/null"}, .max_file_bytes = 0}), Error);
}

TEST_F(WholeFileSourceTest, ReadsNoMoreThanItMayOfAFileWithoutEnd) {
  WholeFileSource source({.files = {"/dev/zero"}, .max_file_bytes = 1 << 20});
  EXPECT_EQ(error_of([&] { test::read_all(source); }).code(), Code::resource_exhausted);
}

}  // namespace
}  // namespace troupe
