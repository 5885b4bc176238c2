#include "troupe/actors/readers/reader.h"

#include <gmock/gmock.h>

#include "actors/decoders/listed_source.h"
#include "support/actor_test.h"

namespace troupe {
namespace {

using test::ListedSource;
using test::numbers_below;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ReaderTest : public test::ActorTest {
 protected:
  Reader reader(std::shared_ptr<ListedSource> source, const ReaderOptions& options = {}) {
    return spawn(record_reader, std::shared_ptr<RecordSource>(source), options);
  }
  auto next(const Reader& reader) { return ask<RecordBlock>(reader, next_atom_v); }
};

TEST_F(ReaderTest, AnswersBlocksInOrderAndNumbersThem) {
  const auto r = reader(std::make_shared<ListedSource>(numbers_below(5), 2));
  std::vector<std::size_t> counts;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto block = next(r)->value;
    EXPECT_EQ(block->sequence, i);
    EXPECT_EQ(block->streams[0].first_record, static_cast<std::int64_t>(2 * i + 1));
    counts.push_back(block->count());
  }
  EXPECT_EQ(counts, (std::vector<std::size_t>{2, 2, 1}));
}

TEST_F(ReaderTest, ReadsAheadAsFarAsItMay) {
  const auto source = std::make_shared<ListedSource>(numbers_below(100));
  const auto r = reader(source, {.read_ahead = 3});
  EXPECT_EQ(source->reads(), 3);
  next(r);
  EXPECT_EQ(source->reads(), 4);
}

TEST_F(ReaderTest, ReadsOnlyWhatIsAskedForWithoutReadAhead) {
  const auto source = std::make_shared<ListedSource>(numbers_below(100));
  const auto r = reader(source, {.read_ahead = 0});
  EXPECT_EQ(source->reads(), 0);
  EXPECT_EQ(next(r)->value->count(), 1u);
  EXPECT_EQ(source->reads(), 1);
}

TEST_F(ReaderTest, SaysForEverThatTheDataHasEnded) {
  const auto r = reader(std::make_shared<ListedSource>(numbers_below(1)));
  EXPECT_TRUE(next(r)->value);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(next(r)->words(), "out of range: end of data: a list");
}

TEST_F(ReaderTest, FailsForEverWithItsFirstFailure) {
  const auto source = std::make_shared<ListedSource>(numbers_below(2));
  source->fail_at_the_end(Error(Code::data_loss, "list:3: torn"));
  const auto r = reader(source);
  EXPECT_TRUE(next(r)->value);
  EXPECT_TRUE(next(r)->value) << "what was read before the failure is given out";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(next(r)->words(), "data loss: list:3: torn");
}

TEST_F(ReaderTest, DoesNotTakeAFailureOfItsSourceForTheEndOfTheData) {
  const auto source = std::make_shared<ListedSource>(numbers_below(1));
  source->fail_at_the_end(Error(Code::out_of_range, "list:2: no such column"));
  const auto r = reader(source);
  EXPECT_TRUE(next(r)->value);
  EXPECT_EQ(next(r)->words(), "data loss: list:2: no such column");
}

TEST_F(ReaderTest, RefusesBlocksOfNothing) {
  const auto source = std::make_shared<ListedSource>(numbers_below(3));
  const auto r = reader(source, {.limits = {.records = 0}});
  EXPECT_THAT(next(r)->words(), HasSubstr("hold at least 1 record and 1 byte, not 0 and "));
  EXPECT_EQ(source->reads(), 0);
}

TEST_F(ReaderTest, GoesOnFromASnapshotWithWhatItHadNotHandedOut) {
  const auto first = reader(std::make_shared<ListedSource>(numbers_below(10), 2));
  next(first);
  const auto snapshot = *ask<ReaderSnapshot>(first, snapshot_atom_v)->value;
  EXPECT_EQ(snapshot.sequence, 1u) << "blocks that are only read ahead are not handed out";

  const auto second = reader(std::make_shared<ListedSource>(numbers_below(10), 2));
  EXPECT_TRUE(ask<caf::ok_atom>(second, restore_atom_v, snapshot)->value);
  for (std::uint64_t sequence = 1; sequence < 5; ++sequence) {
    const auto block = next(second)->value;
    EXPECT_EQ(block->sequence, sequence);
    EXPECT_EQ(block->streams[0].first_record, static_cast<std::int64_t>(2 * sequence + 1));
  }
  EXPECT_EQ(next(second)->words(), "out of range: end of data: a list");
}

TEST_F(ReaderTest, GoesBackAfterTheEndOfTheData) {
  const auto r = reader(std::make_shared<ListedSource>(numbers_below(2)));
  const auto begin = *ask<ReaderSnapshot>(r, snapshot_atom_v)->value;
  while (next(r)->value) {
  }
  const auto end = *ask<ReaderSnapshot>(r, snapshot_atom_v)->value;
  EXPECT_TRUE(ask<caf::ok_atom>(r, restore_atom_v, begin)->value);
  EXPECT_EQ(next(r)->value->sequence, 0u);
  EXPECT_TRUE(ask<caf::ok_atom>(r, restore_atom_v, end)->value);
  EXPECT_EQ(next(r)->words(), "out of range: end of data: a list");
}

TEST_F(ReaderTest, RefusesAPositionThatIsNone) {
  const auto r = reader(std::make_shared<ListedSource>(numbers_below(2)));
  EXPECT_THAT(ask<caf::ok_atom>(r, restore_atom_v, ReaderSnapshot{"nonsense", 0})->words(),
              StartsWith("data loss: "));
  EXPECT_TRUE(next(r)->value) << "it goes on where it was";
}

TEST_F(ReaderTest, HasNoPositionAfterAFailure) {
  const auto source = std::make_shared<ListedSource>(numbers_below(0));
  source->fail_at_the_end(Error(Code::data_loss, "list:1: torn"));
  EXPECT_EQ(ask<ReaderSnapshot>(reader(source), snapshot_atom_v)->words(),
            "data loss: list:1: torn");
}

TEST_F(ReaderTest, CountsWhatItHandsOut) {
  const auto r = reader(std::make_shared<ListedSource>(numbers_below(12), 4));
  next(r);
  next(r);
  const auto status = *ask<StageStatus>(r, status_atom_v)->value;
  EXPECT_EQ(status.records, 8u);
  EXPECT_EQ(status.bytes, 8u) << "of one digit each";
  EXPECT_GT(status.busy.count(), 0);
}

TEST_F(ReaderTest, AnswersCancelledAfterItWasStopped) {
  const auto r = reader(std::make_shared<ListedSource>(numbers_below(9)));
  ask<caf::ok_atom>(r, stop_atom_v);
  EXPECT_EQ(next(r)->words(), "cancelled: the reader has been stopped");
}

}  // namespace
}  // namespace troupe
