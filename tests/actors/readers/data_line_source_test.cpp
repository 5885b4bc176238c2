#include "troupe/actors/readers/data_line_source.h"

#include "actors/readers/read_all.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool is_data(std::string_view line) { return !line.empty() && line[0] != '#'; }

class DataLineSourceTest : public ::testing::Test {
 protected:
  TextLineOptions options(const std::string& bytes) {
    test::write_file(directory / "x.txt", bytes);
    TextLineOptions options;
    options.files = {directory / "x.txt"};
    return options;
  }
  test::TemporaryDirectory directory;
};

TEST_F(DataLineSourceTest, LeavesOutLinesWithoutData) {
  DataLineSource source(options("#\na\n\nb\nc\n# d\n\ne"), is_data);
  EXPECT_THAT(test::read_all(source), ElementsAre("a", "b", "c", "e"));
}

TEST_F(DataLineSourceTest, KeepsTheNumbersOfTheLines) {
  DataLineSource source(options("#\na\n\nb\nc\n# d\n\ne"), is_data);
  const auto file = directory / "x.txt";
  EXPECT_THAT(test::read_places(source),
              ElementsAre(file + ":2", file + ":4", file + ":5", file + ":8"));
}

TEST_F(DataLineSourceTest, SharesTheTextOfTheLines) {
  DataLineSource source(options("a\n\nb\n"), is_data);
  std::vector<RecordRun> first;
  std::vector<RecordRun> second;
  ASSERT_TRUE(source.read(first, {}));
  ASSERT_TRUE(source.read(second, {}));
  EXPECT_EQ(first[0].bytes.data(), second[0].bytes.data());
}

TEST_F(DataLineSourceTest, RefusesToFindNothing) {
  auto o = options("# only\n\n# words\n");
  DataLineSource source(o, is_data);
  EXPECT_THAT(error_of([&] { test::read_all(source); }),
              IsError(Code::invalid_argument, HasSubstr("every line is blank or a comment")));
  o.allow_empty = true;
  DataLineSource lenient(o, is_data);
  EXPECT_TRUE(test::read_all(lenient).empty());
}

TEST_F(DataLineSourceTest, GoesOnFromAnyPosition) {
  auto o = options("#\na\n\nb\nc\n# d\n\ne\n#\nf\ng\n");
  o.buffer_bytes = 8;
  DataLineSource source(o, is_data);
  const auto all = test::read_all(source);
  source.restart({});
  std::vector<RecordRun> runs;
  for (std::size_t done = 0; done <= all.size(); ++done) {
    DataLineSource other(o, is_data);
    other.seek(source.position());
    EXPECT_EQ(test::read_all(other), (std::vector<std::string>(all.begin() + done, all.end())));
    EXPECT_EQ(source.read(runs, {.records = 1}), done < all.size());
  }
}

}  // namespace
}  // namespace troupe
