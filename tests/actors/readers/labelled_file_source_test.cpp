#include "troupe/actors/readers/labelled_file_source.h"

#include <filesystem>

#include "actors/readers/read_all.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/readers/repeat_source.h"
#include "troupe/actors/readers/zip_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using test::read_all;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

class LabelledFileTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(directory / name).parent_path());
    test::write_file(directory / name, bytes);
  }
  /// Two cats and three dogs.
  void write_animals() {
    write("dogs/b.JPG", "dog b");
    write("dogs/a.png", "dog a");
    write("cats/z.jpeg", "cat z");
    write("cats/young/k.jpg", "cat k");
    write("dogs/c.png", "dog c");
  }
  static std::unique_ptr<LabelledFileSource> source(LabelledFiles files,
                                                    std::size_t max_file_bytes = 1000) {
    return std::make_unique<LabelledFileSource>(LabelledFileOptions{
        std::make_shared<const LabelledFiles>(std::move(files)), max_file_bytes});
  }
  std::unique_ptr<LabelledFileSource> animals() {
    write_animals();
    return source(files_by_folder(directory.path()));
  }
  std::unique_ptr<LabelledFileSource> listed(const std::string& lines, char separator = ' ') {
    write("list.txt", lines);
    return source(files_by_list(directory / "list.txt", separator));
  }
  test::TemporaryDirectory directory;
};

TEST_F(LabelledFileTest, MakesAClassOfEachFolder) {
  write_animals();
  const auto files = files_by_folder(directory.path());
  EXPECT_THAT(files.classes, ElementsAre("cats", "dogs"));
  EXPECT_EQ(files.description, "5 files in 2 classes below " + directory.path());
  const auto animals = source(files);
  EXPECT_THAT(read_all(*animals), ElementsAre("cat k", "cat z", "dog a", "dog b", "dog c"));
  animals->restart({});
  EXPECT_THAT(read_all(*animals, {}, 1), ElementsAre("0", "0", "1", "1", "1"));
}

TEST_F(LabelledFileTest, LeavesOutWhatIsHiddenOrNoImage) {
  write_animals();
  write("cats/notes.txt", "x");
  write("cats/.thumb.jpg", "x");
  write("cats/.cache/a.jpg", "x");
  write(".git/a.jpg", "x");
  write("readme.jpg", "x");
  EXPECT_EQ(files_by_folder(directory.path()).files.size(), 5u);
  write("dogs/notes.txt", "x");
  EXPECT_EQ(files_by_folder(directory.path(), {".txt"}).files.size(), 2u);
}

TEST_F(LabelledFileTest, ComplainsAboutFoldersWithoutFiles) {
  EXPECT_THAT(error_of([&] { files_by_folder(directory.path()); }),
              IsError(Code::invalid_argument, HasSubstr("has no folders")));
  EXPECT_THAT(error_of([&] { files_by_folder(directory / "nowhere"); }),
              IsError(Code::not_found, HasSubstr("cannot read " + directory / "nowhere")));
  write("cats/a.gif", "x");
  EXPECT_THAT(error_of([&] { files_by_folder(directory.path()); }),
              IsError(Code::invalid_argument,
                      HasSubstr("cats has no files of the kinds that are looked for "
                                "(.jpg, .jpeg, .png)")));
}

TEST_F(LabelledFileTest, ReadsListsWithPathsBesideTheList) {
  write("x/a.jpg", "A");
  write("b.jpg", "B");
  const auto files = listed("x/a.jpg 3\r\n\nb.jpg   0.5 0.25\n" + (directory / "b.jpg") + " 7");
  EXPECT_THAT(read_all(*files), ElementsAre("A", "B", "B"));
  files->restart({});
  EXPECT_THAT(read_all(*files, {}, 1), ElementsAre("3", "0.5 0.25", "7"));
  EXPECT_EQ(files->describe(), "3 files listed in " + directory / "list.txt");
}

TEST_F(LabelledFileTest, SplitsLinesOfAListAtASeparator) {
  write("a b.jpg", "AB");
  EXPECT_THAT(read_all(*listed("a b.jpg\t3\n", '\t')), ElementsAre("AB"));
  EXPECT_THAT(read_all(*listed("a b.jpg,3\n", ',')), ElementsAre("AB"));
}

TEST_F(LabelledFileTest, NamesTheLineOfAListThatIsWrong) {
  for (const char* line : {"b.jpg", "b.jpg ", " 7"})
    EXPECT_THAT(error_of([&] { listed("a.jpg 1\n" + std::string(line) + "\n"); }),
                IsError(Code::invalid_argument, HasSubstr("list.txt:2: a line is a path, ")))
        << line;
  EXPECT_THAT(error_of([&] { listed("\n"); }),
              IsError(Code::invalid_argument, HasSubstr("list.txt lists no files")));
  EXPECT_THAT(error_of([&] { files_by_list(directory / "none"); }),
              IsError(Code::not_found, HasSubstr("there is no file")));
}

TEST_F(LabelledFileTest, KnowsThePlaceOfEveryRecord) {
  EXPECT_THAT(
      test::read_places(*animals()),
      ElementsAre(directory / "cats/young/k.jpg", directory / "cats/z.jpeg",
                  directory / "dogs/a.png", directory / "dogs/b.JPG", directory / "dogs/c.png"));
  const auto again = listed("cats/z.jpeg 0\ndogs/a.png 1\ncats/z.jpeg 0\n");
  EXPECT_THAT(test::read_places(*again),
              ElementsAre(directory / "cats/z.jpeg", directory / "dogs/a.png",
                          directory / "cats/z.jpeg:2"));
  again->restart({});
  EXPECT_THAT(
      test::read_places(*again, 1),
      ElementsAre(directory / "list.txt:1", directory / "list.txt:2", directory / "list.txt:3"));
}

TEST_F(LabelledFileTest, LimitsBlocksByRecordsAndBytes) {
  const auto files = animals();
  std::vector<RecordRun> runs;
  ASSERT_TRUE(files->read(runs, {.records = 2, .bytes = 100}));
  EXPECT_EQ(runs[0].count(), 2u);
  ASSERT_TRUE(files->read(runs, {.records = 100, .bytes = 12}));
  EXPECT_EQ(runs[0].count(), 2u);
  ASSERT_TRUE(files->read(runs, {.records = 100, .bytes = 1}));
  EXPECT_EQ(runs[0].count(), 1u);
  EXPECT_EQ(runs[1].count(), 1u);
  EXPECT_FALSE(files->read(runs, {}));
}

TEST_F(LabelledFileTest, GoesOnFromAnyPosition) {
  write_animals();
  const auto make = [&] {
    return RepeatSource(source(files_by_folder(directory.path())),
                        {.epochs = 3, .shuffle_files = true, .seed = 4});
  };
  auto whole = make();
  const auto all = read_all(whole);
  ASSERT_EQ(all.size(), 15u);
  whole.restart({});
  std::vector<RecordRun> runs;
  for (std::size_t done = 0; done < all.size(); ++done) {
    auto other = make();
    other.seek(SourcePosition::parse(whole.position().str()));
    EXPECT_EQ(read_all(other), (std::vector<std::string>(all.begin() + done, all.end())));
    ASSERT_TRUE(whole.read(runs, {.records = 1}));
  }
  EXPECT_THAT(error_of([&] {
                animals()->seek({0, {{.file = 6}}});
              }),
              IsError(Code::invalid_argument, HasSubstr("cannot read 5 files in 2 classes")));
  EXPECT_THAT(error_of([&] {
                animals()->seek({0, {{.file = 3, .skip = 3}}});
              }),
              IsError(Code::invalid_argument, HasSubstr("skip 3")));
}

TEST_F(LabelledFileTest, KeepsFilesAndLabelsTogetherInEveryOrder) {
  RepeatSource source(animals(), {.epochs = 5, .shuffle_files = true, .seed = 1});
  std::vector<RecordRun> runs;
  std::vector<std::string> orders;
  while (source.read(runs, {.records = 3}))
    for (std::size_t i = 0; i < runs[0].count(); ++i) {
      const std::string file(runs[0].begin(i), runs[0].end(i));
      const std::string label(runs[1].begin(i), runs[1].end(i));
      EXPECT_EQ(label, file.starts_with("cat") ? "0" : "1");
      orders.push_back(file);
    }
  ASSERT_EQ(orders.size(), 25u);
  const std::vector<std::string> first(orders.begin(), orders.begin() + 5);
  const std::vector<std::string> second(orders.begin() + 5, orders.begin() + 10);
  EXPECT_NE(first, second);
  EXPECT_THAT(first, UnorderedElementsAreArray(second));
}

TEST_F(LabelledFileTest, CanBeZippedWithMore) {
  std::vector<std::unique_ptr<RecordSource>> both;
  both.push_back(animals());
  both.push_back(animals());
  ZipSource zip(std::move(both));
  std::vector<RecordRun> runs;
  ASSERT_TRUE(zip.read(runs, {.records = 3}));
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[2].place(2), directory / "dogs/a.png");
  ASSERT_TRUE(zip.read(runs, {.records = 3}));
  EXPECT_EQ(runs[0].place(0), directory / "dogs/b.JPG");
  EXPECT_EQ(runs[3].place(1), directory / "dogs/c.png");
}

TEST_F(LabelledFileTest, RefusesFilesThatCannotBeRead) {
  write("a.jpg", "12345");
  EXPECT_THAT(error_of([&] { read_all(*listed("b.jpg 1\n")); }),
              IsError(Code::not_found, HasSubstr(directory / "b.jpg")));
  EXPECT_THAT(error_of([&] { read_all(*listed(". 1\n")); }),
              IsError(Code::invalid_argument, HasSubstr("it is no file")));
  write("list.txt", "a.jpg 1\n");
  EXPECT_THAT(error_of([&] { read_all(*source(files_by_list(directory / "list.txt"), 4)); }),
              IsError(Code::resource_exhausted,
                      HasSubstr("a.jpg: the file has 5 bytes, but at most 4 are read "
                                "(LabelledFileOptions::max_file_bytes)")));
  EXPECT_THAT(error_of([&] { source({}); }),
              IsError(Code::invalid_argument, HasSubstr("at least one file")));
}

// ---- what happens to bad files ---------------------------------------------------------------

class LabelledFilePolicy : public LabelledFileTest {
 protected:
  LabelledFilePolicy() {
    for (const auto* name : {"a", "b", "c", "d"}) write(name, name);
    write("list.txt", "a 0\nb 1\nc 2\nd 3\n");
    policy.report =
        std::make_shared<FileReport>([this](const std::string& line) { warnings.push_back(line); });
  }
  LabelledFileSource source() const {
    LabelledFileOptions options;
    options.files = std::make_shared<const LabelledFiles>(files_by_list(directory / "list.txt"));
    options.policy = policy;
    return LabelledFileSource(options);
  }
  /// "a0 c2": what is read, each file with its label.
  static std::string pairs(RecordSource& source, std::size_t block = 3) {
    std::string all;
    std::vector<RecordRun> runs;
    while (source.read(runs, {.records = block}))
      for (std::size_t i = 0; i < runs[0].count(); ++i)
        all += (all.empty() ? "" : " ") + std::string(runs[0].begin(i), runs[0].end(i)) +
               std::string(runs[1].begin(i), runs[1].end(i));
    return all;
  }
  /// What is read when a file is not as it should be, in blocks of every size.
  void expect_left_out(const std::string& words) {
    for (std::size_t block = 1; block <= 5; ++block) {
      auto bad = source();
      EXPECT_EQ(pairs(bad, block), "a0 c2 d3");
      EXPECT_THAT(bad.report(), HasSubstr("1 file was left out"));
      EXPECT_THAT(bad.report(), HasSubstr(words));
    }
  }
  /// The records in front of it come first, then the failure.
  void expect_failure(Code code, const std::string& words) {
    for (std::size_t block = 1; block <= 5; ++block) {
      auto bad = source();
      std::vector<RecordRun> runs;
      ASSERT_TRUE(bad.read(runs, {.records = block}));
      EXPECT_EQ(runs[0].count(), 1u) << "only a comes before it";
      EXPECT_THAT(error_of([&] { bad.read(runs, {}); }), IsError(code, HasSubstr(words)));
    }
  }
  std::vector<std::string> warnings;
  FilePolicy policy = LabelledFileOptions().policy;
};

TEST_F(LabelledFilePolicy, IsForFilesThatAreMissing) {
  std::filesystem::remove(directory / "b");
  expect_failure(Code::not_found, directory / "b" + ": No such file");
  policy.missing = FileAction::skip;
  expect_left_out("b: No such file");
  EXPECT_TRUE(warnings.empty());
  policy.missing = FileAction::warn;
  auto warned = source();
  EXPECT_EQ(pairs(warned), "a0 c2 d3");
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("b: No such file")));
}

TEST_F(LabelledFilePolicy, IsForFilesThatCannotBeRead) {
  std::filesystem::remove(directory / "b");
  std::filesystem::create_symlink("b", directory / "b");  // round and round
  expect_failure(Code::unavailable, "Too many levels of symbolic links");
  policy.unreadable = FileAction::skip;
  expect_left_out("Too many levels of symbolic links");
}

TEST_F(LabelledFilePolicy, IsForEmptyFilesWhichAreAFailureUnlessItSaysOtherwise) {
  write("b", "");
  expect_failure(Code::data_loss, "b has no record (FilePolicy::empty)");
  policy.damaged = FileAction::skip;
  expect_failure(Code::data_loss, "b has no record (FilePolicy::empty)");
  policy.empty = FileAction::skip;
  expect_left_out("b has no record");
}

TEST_F(LabelledFilePolicy, IsForFilesThatAreTooLarge) {
  write("b", std::string(2000, 'b'));
  const auto files = std::make_shared<const LabelledFiles>(files_by_list(directory / "list.txt"));
  policy.damaged = FileAction::skip;
  LabelledFileSource bad({.files = files, .max_file_bytes = 1000, .policy = policy});
  EXPECT_EQ(pairs(bad), "a0 c2 d3");
  EXPECT_THAT(bad.report(), HasSubstr("2000 bytes, but at most 1000 are read"));
}

TEST_F(LabelledFilePolicy, NeverTakesNothingForData) {
  policy.missing = FileAction::skip;
  for (const auto* name : {"a", "b", "c", "d"}) std::filesystem::remove(directory / name);
  auto bad = source();
  EXPECT_THAT(error_of([&] { pairs(bad); }),
              IsError(Code::invalid_argument,
                      HasSubstr("0 records in 4 files listed in " + directory / "list.txt" +
                                ": 4 files were left out")));
  const auto files = std::make_shared<const LabelledFiles>(files_by_list(directory / "list.txt"));
  LabelledFileSource fine({.files = files, .allow_empty = true, .policy = policy});
  EXPECT_EQ(pairs(fine), "");
}

TEST_F(LabelledFilePolicy, KeepsPositionsAtEveryRecord) {
  policy.missing = FileAction::skip;
  std::filesystem::remove(directory / "b");
  for (std::size_t done = 0; done <= 3; ++done) {
    auto whole = source();
    std::vector<RecordRun> runs;
    for (std::size_t i = 0; i < done; ++i) ASSERT_TRUE(whole.read(runs, {.records = 1}));
    auto other = source();
    other.seek(SourcePosition::parse(whole.position().str()));
    EXPECT_EQ(pairs(other), std::string("a0 c2 d3").substr(std::min<std::size_t>(8, 3 * done)));
  }
  auto skipped = source();
  skipped.seek({0, {{.file = 0, .skip = 2}}});
  EXPECT_EQ(pairs(skipped), "d3") << "b is no record to be skipped";
}

}  // namespace
}  // namespace troupe
