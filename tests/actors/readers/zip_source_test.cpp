#include "troupe/actors/readers/zip_source.h"

#include "actors/readers/read_all.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/readers/repeat_source.h"
#include "troupe/actors/readers/text_line_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ZipSourceTest : public ::testing::Test {
 protected:
  std::unique_ptr<RecordSource> lines(const std::vector<std::string>& names,
                                      std::size_t buffer = 1 << 20) {
    TextLineOptions options;
    for (const auto& name : names) options.files.push_back(directory / name);
    options.buffer_bytes = buffer;
    return std::make_unique<TextLineSource>(options);
  }
  void numbers(const std::string& name, int first, int last) {
    std::string bytes;
    for (int i = first; i <= last; ++i) bytes += std::to_string(i) + "\n";
    test::write_file(directory / name, bytes);
  }
  static std::unique_ptr<ZipSource> zip(std::unique_ptr<RecordSource> a,
                                        std::unique_ptr<RecordSource> b, ZipOptions options = {}) {
    std::vector<std::unique_ptr<RecordSource>> sources;
    sources.push_back(std::move(a));
    sources.push_back(std::move(b));
    return std::make_unique<ZipSource>(std::move(sources), options);
  }
  /// "3|3": what stands side by side.
  static std::vector<std::string> pairs(RecordSource& source, const BlockLimits& limits = {}) {
    std::vector<std::string> all;
    std::vector<RecordRun> runs;
    while (source.read(runs, limits)) {
      EXPECT_EQ(runs.at(0).count(), runs.at(1).count());
      for (std::size_t i = 0; i < runs[0].count(); ++i)
        all.push_back(std::string(runs[0].begin(i), runs[0].end(i)) + "|" +
                      std::string(runs[1].begin(i), runs[1].end(i)));
    }
    return all;
  }

  test::TemporaryDirectory directory;
};

TEST_F(ZipSourceTest, PutsRecordsSideBySideWhateverTheirBlocks) {
  numbers("a.txt", 1, 100);
  numbers("b1.txt", 1, 37);
  numbers("b2.txt", 38, 100);
  const auto source = zip(lines({"a.txt"}, 17), lines({"b1.txt", "b2.txt"}, 50));
  const auto all = pairs(*source, {.records = 9});
  ASSERT_EQ(all.size(), 100u);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(all[static_cast<std::size_t>(i)],
              std::to_string(i + 1) + "|" + std::to_string(i + 1));
}

TEST_F(ZipSourceTest, KeepsThePlacesOfBothRecords) {
  numbers("a.txt", 1, 3);
  numbers("b1.txt", 1, 1);
  numbers("b2.txt", 2, 3);
  const auto source = zip(lines({"a.txt"}), lines({"b1.txt", "b2.txt"}));
  EXPECT_THAT(test::read_places(*source, 1),
              ElementsAre(directory / "b1.txt:1", directory / "b2.txt:1", directory / "b2.txt:2"));
  source->restart({});
  EXPECT_THAT(test::read_places(*source, 0),
              ElementsAre(directory / "a.txt:1", directory / "a.txt:2", directory / "a.txt:3"));
}

TEST_F(ZipSourceTest, NamesTheEndsThatDoNotMatch) {
  numbers("a.txt", 1, 100);
  numbers("b.txt", 1, 101);
  for (const bool first : {true, false}) {
    const auto source =
        first ? zip(lines({"a.txt"}), lines({"b.txt"})) : zip(lines({"b.txt"}), lines({"a.txt"}));
    EXPECT_THAT(error_of([&] { pairs(*source); }),
                IsError(Code::data_loss, HasSubstr("end after " + (directory / "a.txt:100") +
                                                   ", but lines of " + (directory / "b.txt") +
                                                   " go on at " + (directory / "b.txt:101"))));
  }
}

TEST_F(ZipSourceTest, DropsTheRestWhenAsked) {
  numbers("a.txt", 1, 3);
  numbers("b.txt", 1, 5);
  const auto source = zip(lines({"a.txt"}), lines({"b.txt"}), {.allow_shorter = true});
  EXPECT_THAT(pairs(*source), ElementsAre("1|1", "2|2", "3|3"));
}

TEST_F(ZipSourceTest, GoesOnFromAnyPosition) {
  numbers("a.txt", 1, 50);
  numbers("b1.txt", 1, 20);
  numbers("b2.txt", 21, 50);
  const auto make = [&] { return zip(lines({"a.txt"}, 16), lines({"b1.txt", "b2.txt"}, 64)); };
  const auto source = make();
  const auto all = pairs(*source);
  source->restart({});
  std::vector<RecordRun> runs;
  std::size_t done = 0;
  do {
    const auto other = make();
    other->seek(SourcePosition::parse(source->position().str()));
    EXPECT_EQ(pairs(*other), (std::vector<std::string>(all.begin() + done, all.end())));
    if (!source->read(runs, {.records = 7})) break;
    done += runs[0].count();
  } while (true);
  EXPECT_EQ(done, all.size());
}

class RepeatSourceTest : public ZipSourceTest {};

TEST_F(RepeatSourceTest, ReadsEverythingOnceAnEpoch) {
  numbers("a.txt", 1, 2);
  RepeatSource source(lines({"a.txt"}), {.epochs = 3});
  EXPECT_THAT(test::read_all(source), ElementsAre("1", "2", "1", "2", "1", "2"));
  EXPECT_EQ(source.position().epoch, 2u);
}

TEST_F(RepeatSourceTest, ShufflesFilesAnewInEachEpochAndBySeed) {
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) {
    names.push_back("f" + std::to_string(i));
    numbers(names.back(), i, i);
  }
  const auto read = [&](std::uint64_t seed) {
    RepeatSource source(lines(names), {.epochs = 2, .shuffle_files = true, .seed = seed});
    return test::read_all(source);
  };
  const auto once = read(1);
  ASSERT_EQ(once.size(), 20u);
  const std::vector<std::string> first(once.begin(), once.begin() + 10);
  const std::vector<std::string> second(once.begin() + 10, once.end());
  EXPECT_NE(first, second);
  EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(second));
  EXPECT_EQ(read(1), once);
  EXPECT_NE(read(2), once);
}

TEST_F(RepeatSourceTest, ShufflesZippedFilesTogether) {
  for (int i = 0; i < 5; ++i) {
    numbers("a" + std::to_string(i), i, i);
    numbers("b" + std::to_string(i), i, i);
  }
  RepeatSource source(zip(lines({"a*"}), lines({"b*"})), {.epochs = 3, .shuffle_files = true});
  const auto all = pairs(source);
  EXPECT_EQ(all.size(), 15u);
  for (const auto& pair : all) EXPECT_EQ(pair[0], pair[2]) << pair;
}

TEST_F(RepeatSourceTest, SaysInEachRunWhichEpochItIs) {
  numbers("a", 1, 3);
  numbers("b", 1, 3);
  RepeatSource source(zip(lines({"a"}), lines({"b"})), {.epochs = 2});
  std::vector<std::uint64_t> epochs;
  std::vector<RecordRun> runs;
  while (source.read(runs, {.records = 2}))
    for (const auto& run : runs) epochs.push_back(run.epoch);
  EXPECT_THAT(epochs, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST_F(RepeatSourceTest, KeepsTheEpochsOfBothSidesOfAZip) {
  numbers("a", 1, 6);
  numbers("b", 1, 2);
  const auto source =
      zip(lines({"a"}), std::make_unique<RepeatSource>(lines({"b"}), RepeatOptions{.epochs = 3}));
  std::vector<std::uint64_t> epochs;
  std::vector<RecordRun> runs;
  while (source->read(runs, {.records = 1})) epochs.push_back(runs.at(1).epoch);
  EXPECT_THAT(epochs, ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST_F(RepeatSourceTest, GoesOnInTheEpochOfItsPosition) {
  numbers("a", 1, 4);
  numbers("b", 5, 9);
  const RepeatOptions options{.epochs = 3, .shuffle_files = true, .seed = 5};
  RepeatSource source(lines({"a", "b"}), options);
  const auto all = test::read_all(source);
  source.restart({});
  std::vector<RecordRun> runs;
  for (std::size_t done = 0; done < all.size(); ++done) {
    RepeatSource other(lines({"a", "b"}), options);
    other.seek(source.position());
    EXPECT_EQ(test::read_all(other), (std::vector<std::string>(all.begin() + done, all.end())));
    ASSERT_TRUE(source.read(runs, {.records = 1}));
  }
}

TEST_F(RepeatSourceTest, EndsInsteadOfRepeatingNothingForEver) {
  numbers("a", 1, 0);
  TextLineOptions options;
  options.files = {directory / "a"};
  options.allow_empty = true;
  RepeatSource source(std::make_unique<TextLineSource>(options), {});
  EXPECT_TRUE(test::read_all(source).empty());
}

TEST_F(RepeatSourceTest, NeedsAnEpoch) {
  numbers("a", 1, 1);
  EXPECT_THROW(RepeatSource(lines({"a"}), {.epochs = 0}), Error);
}

}  // namespace
}  // namespace troupe
