#include "troupe/actors/readers/file_policy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "actors/readers/read_all.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "troupe/actors/readers/text_line_source.h"
#include "troupe/actors/readers/tfrecord_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using test::read_all;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StrEq;

class FilePolicyTest : public ::testing::Test {
 protected:
  FilePolicyTest() {
    policy.report =
        std::make_shared<FileReport>([this](const std::string& line) { warnings.push_back(line); });
  }
  std::string file(const std::string& name, std::string_view bytes) {
    test::write_file(directory / name, bytes);
    return directory / name;
  }
  TextLineSource lines(std::vector<std::string> files) const {
    TextLineOptions options;
    options.files = std::move(files);
    options.policy = policy;
    return TextLineSource(options);
  }

  test::TemporaryDirectory directory;
  std::vector<std::string> warnings;
  FilePolicy policy;
};

TEST_F(FilePolicyTest, LeavesOutWhatIsMissingAndSaysSo) {
  policy.missing = FileAction::skip;
  auto source = lines({directory / "none.txt", file("a.txt", "1\n"), directory / "*.csv"});
  EXPECT_THAT(read_all(source), ElementsAre("1"));
  EXPECT_THAT(source.report(),
              AllOf(HasSubstr("2 files were left out, wholly or in part, the first: "),
                    HasSubstr("none.txt: No such file")));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(FilePolicyTest, NoticesAFileThatIsGoneWhenItsTurnComes) {
  const auto files = {file("a.txt", "1\n"), file("b.txt", "2\n"), file("c.txt", "3\n")};
  policy.missing = FileAction::warn;
  auto source = lines(files);
  std::filesystem::remove(directory / "b.txt");
  EXPECT_THAT(read_all(source), ElementsAre("1", "3"));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("b.txt: No such file")));
  auto strict_policy = FilePolicy();
  TextLineOptions options{.files = {directory / "a.txt", file("b.txt", "2\n")}};
  TextLineSource strict(options);
  std::filesystem::remove(directory / "b.txt");
  EXPECT_THAT(error_of([&] { read_all(strict); }), IsError(Code::not_found, HasSubstr("b.txt")));
}

TEST_F(FilePolicyTest, LeavesOutWhatCannotBeRead) {
  policy.unreadable = FileAction::skip;
  const auto path = file("a.txt", "1\n");
  auto source = lines({path, file("b.txt", "2\n")});
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);  // opens, but does not read
  EXPECT_THAT(read_all(source), ElementsAre("2"));
  EXPECT_EQ(policy.report->count(), 1);
}

TEST_F(FilePolicyTest, PassesOverFilesWithoutRecordsUnlessTheyAreAFailure) {
  const auto files = {file("a.txt", ""), file("b.txt", "2\n")};
  auto source = lines(files);
  EXPECT_THAT(read_all(source), ElementsAre("2"));
  policy.empty = FileAction::fail;
  auto strict = lines(files);
  EXPECT_THAT(error_of([&] { read_all(strict); }),
              IsError(Code::data_loss, HasSubstr("a.txt has no record (FilePolicy::empty)")));
}

TEST_F(FilePolicyTest, KeepsTheRecordsInFrontOfDamage) {
  std::string bytes = test::compressed(test::lines_of("line ", 1000), true);
  bytes.resize(bytes.size() / 2);
  policy.damaged = FileAction::skip;
  auto source = lines({file("a.txt.gz", bytes), file("b.txt", "last\n")});
  const auto all = read_all(source);
  ASSERT_GT(all.size(), 100u);
  EXPECT_LT(all.size(), 1000u);
  EXPECT_EQ(all[99], "line 100");
  EXPECT_EQ(all.back(), "last");
  ASSERT_EQ(policy.report->entries().size(), 1u);
  EXPECT_THAT(policy.report->entries()[0].why, HasSubstr("the gzip data is cut short"));
}

TEST_F(FilePolicyTest, TakesAFileThatShrinksWhileItIsReadForDamage) {
  const auto path = file("a.txt", test::lines_of("", 1000));
  TextLineOptions options{.files = {path}, .buffer_bytes = 100};
  options.policy = policy;
  TextLineSource source(options);
  std::vector<RecordRun> runs;
  ASSERT_TRUE(source.read(runs, {.records = 1}));
  ASSERT_EQ(::truncate(path.c_str(), 1000), 0);
  EXPECT_THAT(
      error_of([&] { read_all(source); }),
      IsError(Code::data_loss, AllOf(HasSubstr("ends at byte 1000, but had 3893 bytes when "),
                                     HasSubstr("it has been changed"))));
}

TEST_F(FilePolicyTest, CountsAFileOnceHoweverOftenItIsLeftOut) {
  policy.missing = FileAction::skip;
  const auto path = file("a.txt", "1\n");
  auto source = lines({path, file("b.txt", "2\n")});
  std::filesystem::remove(path);
  for (int epoch = 0; epoch < 3; ++epoch) {
    source.restart({});
    EXPECT_THAT(read_all(source), ElementsAre("2"));
  }
  EXPECT_EQ(policy.report->count(), 1);
  EXPECT_EQ(policy.report->entries()[0].times, 3);
  EXPECT_THAT(source.report(), HasSubstr("1 file was left out"));
}

TEST_F(FilePolicyTest, NeverTakesNothingForData) {
  policy.missing = FileAction::skip;
  auto source = lines({directory / "a.txt", directory / "b*"});
  EXPECT_THAT(
      error_of([&] { read_all(source); }),
      IsError(Code::invalid_argument, AllOf(HasSubstr("0 records in lines of 0 files: 2 files "
                                                      "were left out"),
                                            HasSubstr("allow_empty"))));
}

TEST_F(FilePolicyTest, IsSilentAboutNothing) { EXPECT_THAT(FileReport().words(), StrEq("")); }

}  // namespace
}  // namespace troupe
