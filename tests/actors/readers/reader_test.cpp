#include "troupe/actors/readers/reader.h"

#include <gmock/gmock.h>

#include "actors/decoders/listed_source.h"
#include "support/actor_test.h"

namespace troupe {
namespace {

using test::ListedSource;
using test::numbers_below;

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

TEST_F(ReaderTest, AnswersCancelledAfterItWasStopped) {
  const auto r = reader(std::make_shared<ListedSource>(numbers_below(9)));
  ask<caf::ok_atom>(r, stop_atom_v);
  EXPECT_EQ(next(r)->words(), "cancelled: the reader has been stopped");
}

}  // namespace
}  // namespace troupe
