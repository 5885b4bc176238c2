// A reader that has pieces to read begins to share, leaves or is stopped: each record comes once.

#include <gmock/gmock.h>

#include <functional>

#include "actors/decoders/listed_source.h"
#include "support/actor_test.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using test::ListedSource;
using test::numbers_below;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Something happens while it reads.
class EventfulSource : public ListedSource {
 public:
  using ListedSource::ListedSource;

  /// During the read after so many others.
  void after(int reads, std::function<void()> event) {
    at_ = this->reads() + reads + 1;
    event_ = std::move(event);
  }
  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override {
    const bool more = ListedSource::read(streams, limits);
    if (reads() == at_) event_();
    return more;
  }

 private:
  int at_ = 0;
  std::function<void()> event_;
};

PieceDealer::behavior_type nothing_left() {
  return {[](take_atom, std::uint32_t) -> caf::result<ReadingState> {
    return fault(Code::out_of_range, "nothing is left");
  }};
}

class SharingReaderTest : public test::ActorTest {
 protected:
  static std::string place(std::uint64_t record) {
    return SourcePosition{0, {{.offset = record}}}.str();
  }
  void restore(const ReadingState& state) {
    EXPECT_TRUE(ask<caf::ok_atom>(reader, restore_atom_v, state)->value);
  }
  /// The numbers of the first records of its blocks.
  std::vector<std::int64_t> rest() {
    std::vector<std::int64_t> firsts;
    while (true) {
      const auto block = ask<RecordBlock>(reader, next_atom_v);
      if (!block->value) {
        EXPECT_EQ(block->words(), "out of range: end of data: a list");
        return firsts;
      }
      firsts.push_back(block->value->streams[0].first_record);
    }
  }

  const ReadingState pieces{{{place(20), 5}, {place(60), 5}}, {}};  // and nothing behind them
  const std::shared_ptr<EventfulSource> source =
      std::make_shared<EventfulSource>(numbers_below(100), 5);
  const SharingReader reader =
      spawn(record_reader, std::shared_ptr<RecordSource>(source), ReaderOptions{.read_ahead = 4});
  const caf::actor dealer = caf::actor_cast<caf::actor>(spawn(nothing_left));
  void begin_to_share() {
    caf::anon_send(caf::actor_cast<caf::actor>(reader), join_atom_v, dealer, std::uint32_t{0});
  }
};

TEST_F(SharingReaderTest, ReadsNothingBehindItsPiecesThoughItHasSetOutToReadOn) {
  source->after(1, [this] { begin_to_share(); });
  restore(pieces);
  EXPECT_THAT(rest(), ElementsAre(21, 61));
}

TEST_F(SharingReaderTest, ReadsAllItsPiecesWhenItBeginsToShareBeforeTheLast) {
  source->after(0, [this] { begin_to_share(); });
  restore(pieces);
  EXPECT_THAT(rest(), ElementsAre(21, 61));
}

TEST_F(SharingReaderTest, HandsBackItsPiecesWhenItLeaves) {
  source->after(1, [this] { begin_to_share(); });
  restore(pieces);
  EXPECT_TRUE(ask<RecordBlock>(reader, next_atom_v)->value);
  const auto left = *ask<ReadingState>(reader, leave_atom_v)->value;
  ASSERT_EQ(left.again.size(), 1u);
  EXPECT_EQ(left.again[0].position, place(60));
  EXPECT_EQ(left.again[0].records, 5u);
  EXPECT_THAT(rest(), IsEmpty());
}

TEST_F(SharingReaderTest, CannotBeGoneOnFromOnceItWasStopped) {
  source->after(1, [this] { begin_to_share(); });
  restore(pieces);
  EXPECT_TRUE(ask<caf::ok_atom>(reader, cut_atom_v)->value);
  EXPECT_TRUE(ask<caf::ok_atom>(reader, stop_atom_v)->value);
  EXPECT_EQ(ask<ReadingState>(reader, cut_atom_v, BlockReceipts{})->words(),
            "cancelled: the reader has been stopped")
      << "it has dropped blocks that nobody has had";
}

}  // namespace
}  // namespace troupe
