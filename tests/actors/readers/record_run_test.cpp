#include "troupe/actors/readers/record_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/decoders/listed_source.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;

/// The records of a list, read as one run, said to stand in `file` from `first` on.
RecordRun run_of(std::vector<std::string> records, const std::string& file, std::int64_t first) {
  const auto count = records.size();
  test::ListedSource source(std::move(records), count);
  std::vector<RecordRun> runs;
  source.read(runs, {});
  runs[0].file = file;
  runs[0].first_record = first;
  return runs[0];
}
std::vector<std::string> records(const RecordRun& run) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < run.count(); ++i) all.emplace_back(run.begin(i), run.end(i));
  return all;
}
std::vector<std::string> places(const RecordRun& run) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < run.count(); ++i) all.push_back(run.place(i));
  return all;
}

TEST(RunCollector, KeepsRecordsAndPlacesOfAllPieces) {
  RunCollector collector({.records = 10});
  collector.add(run_of({"1", "2"}, "a", 7));
  collector.add(run_of({"3"}, "a", 9));
  collector.add(run_of({"", "4"}, "b", 1));
  collector.add(run_of({"5"}, "b", 5));
  const auto run = collector.take();
  EXPECT_THAT(records(run), ElementsAre("1", "2", "3", "", "4", "5"));
  EXPECT_THAT(places(run), ElementsAre("a:7", "a:8", "a:9", "b:1", "b:2", "b:5"));
  EXPECT_EQ(run.jumps.size(), 2u) << "records that follow one another need none";
  EXPECT_GE(run.begins.front(), 64u);
  EXPECT_GE(run.bytes.size(), run.ends.back() + 64);
  EXPECT_TRUE(collector.empty());
}

TEST(RunCollector, SaysWhatMayStillBeAdded) {
  RunCollector collector({.records = 3, .bytes = 4});
  EXPECT_EQ(collector.room().records, 3u);
  collector.add(run_of({"12"}, "a", 1));
  EXPECT_EQ(collector.room().records, 2u);
  EXPECT_EQ(collector.room().bytes, 2u);
  collector.add(run_of({"34"}, "a", 2));
  EXPECT_EQ(collector.room().records, 0u);
}

TEST(RunCollector, SharesTheBytesOfASinglePiece) {
  RunCollector collector({});
  const auto piece = run_of({"1", "2"}, "a", 1);
  collector.add(piece);
  EXPECT_EQ(collector.take().bytes.data(), piece.bytes.data());
}

TEST(RecordRun, KeepsItsPlacesWhenItIsSlicedAndJoined) {
  RunCollector collector({});
  collector.add(run_of({"1", "2"}, "a", 7));
  collector.add(run_of({"3", "4"}, "b", 1));
  collector.add(run_of({"5", "6"}, "b", 8));
  const auto run = collector.take();
  const auto all = places(run);
  for (std::size_t begin = 0; begin < run.count(); ++begin)
    for (std::size_t end = begin + 1; end <= run.count(); ++end) {
      const auto part = slice(run, begin, end);
      EXPECT_EQ(places(part), (std::vector<std::string>(all.begin() + begin, all.begin() + end)));
      collector.add(slice(run, 0, 1));
      collector.add(part);
      const auto joined = places(collector.take());
      EXPECT_EQ(std::vector<std::string>(joined.begin() + 1, joined.end()), places(part));
    }
}

}  // namespace
}  // namespace troupe
