#include "troupe/actors/decoders/decoder.h"

#include <gmock/gmock.h>

#include "actors/decoders/listed_source.h"
#include "support/actor_test.h"
#include "support/error_matcher.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

using test::ListedSource;
using test::numbers_below;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DecoderTest : public test::ActorTest {
 protected:
  // Whoever still waits is answered, so that every actor can end.
  void TearDown() override {
    if (queue) caf::anon_send_exit(queue, caf::exit_reason::user_shutdown);
  }

  void give(std::vector<std::string> records, std::int64_t capacity = 1000, int decoders = 1,
            std::size_t block = 1) {
    source = std::make_shared<ListedSource>(std::move(records), block);
    reader =
        spawn(record_reader, std::shared_ptr<RecordSource>(source), ReaderOptions{.read_ahead = 0});
    QueueOptions options;
    options.name = "q";
    options.capacity = capacity;
    options.producers = decoders;
    queue = spawn(fifo_queue, options);
  }
  static std::shared_ptr<TupleDecoder> plain(std::shared_ptr<BadRecords> bad = nullptr) {
    return std::make_shared<TupleDecoder>(
        std::vector<std::shared_ptr<RecordDecoder>>{std::make_shared<test::PlainNumberDecoder>()},
        std::move(bad));
  }
  Decoder make(std::shared_ptr<BadRecords> bad = nullptr) {
    return spawn(decoder, reader, queue, plain(std::move(bad)));
  }
  auto start(const Decoder& decoder) { return ask<std::uint64_t>(decoder, start_atom_v); }
  auto dequeue(std::int64_t count) {
    return ask<Batch>(queue, dequeue_atom_v, DequeueRequest{count, true});
  }
  std::vector<std::int64_t> take(std::int64_t count) {
    const auto batch = dequeue(count);
    if (!batch->value) return {};
    const auto values = batch->value->components[0].read<std::int64_t>();
    return {values.begin(), values.end()};
  }
  QueueStatus status() { return *ask<QueueStatus>(queue, status_atom_v)->value; }

  std::shared_ptr<ListedSource> source;
  Reader reader;
  Queue queue;
};

TEST_F(DecoderTest, FillsTheQueueAndClosesItAtTheEnd) {
  give({"3", "1", "2"});
  const auto started = start(make());
  EXPECT_EQ(started->value, 3u);
  EXPECT_THAT(take(5), ElementsAre(3, 1, 2));
  EXPECT_THAT(dequeue(1)->words(), HasSubstr("insufficient elements"));
  EXPECT_THAT(dequeue(1)->words(), HasSubstr("end of data: a list"));
}

TEST_F(DecoderTest, IsOneBlockAheadOfAFullQueueAtMost) {
  give(numbers_below(100), 2);
  const auto started = start(make());
  EXPECT_TRUE(started->pending());
  EXPECT_EQ(source->reads(), 4) << "two in the queue, one waits for room, one is not yet decoded";
  take(1);
  EXPECT_EQ(source->reads(), 5);
}

TEST_F(DecoderTest, PassesOnWhatItHasBeforeItLeaves) {
  give(numbers_below(100), 2, 2);
  const LeavingDecoder first = spawn(decoder, reader, queue, plain());
  const auto started = start(first);
  const auto left = ask<caf::ok_atom>(first, leave_atom_v);
  EXPECT_TRUE(left->pending()) << "one block waits for room, one is not yet decoded";
  EXPECT_EQ(source->reads(), 4);
  EXPECT_THAT(take(2), ElementsAre(0, 1));
  EXPECT_TRUE(left->value);
  EXPECT_EQ(started->value, 4u);
  EXPECT_EQ(source->reads(), 4);
  EXPECT_FALSE(status().closed) << "a second decoder is still to come";
  start(make());
  EXPECT_THAT(take(4), ElementsAre(2, 3, 4, 5));
}

TEST_F(DecoderTest, LeavesAlsoWhenNobodyHasStartedItYet) {
  give(numbers_below(3));
  const LeavingDecoder one = spawn(decoder, reader, queue, plain());
  const auto left = ask<caf::ok_atom>(one, leave_atom_v);
  EXPECT_TRUE(left->pending());
  EXPECT_EQ(start(one)->value, 0u);
  EXPECT_TRUE(left->value);
  EXPECT_EQ(source->reads(), 0);
}

TEST_F(DecoderTest, ClosesTheQueueWithABadRecord) {
  give({"1", "2", "x", "4"});
  const auto started = start(make());
  EXPECT_EQ(started->words(), "invalid argument: list:3: \"x\" is not a number");
  EXPECT_THAT(take(2), ElementsAre(1, 2));
  EXPECT_THAT(dequeue(1)->words(),
              StartsWith("invalid argument: list:3: \"x\" is not a number; therefore FIFOQueue"));
}

/// A decoder that fails as if the data had ended.
class EndingDecoder : public test::PlainNumberDecoder {
 public:
  void decode(const RecordRun& run, std::size_t i, Element&) override {
    fail(Code::out_of_range, run.place(i), ": no such row");
  }
};

TEST_F(DecoderTest, DoesNotTakeAFailureToDecodeForTheEndOfTheData) {
  give({"1", "2"});
  const auto d = spawn(decoder, reader, queue,
                       std::make_shared<TupleDecoder>(std::vector<std::shared_ptr<RecordDecoder>>{
                           std::make_shared<EndingDecoder>()}));
  EXPECT_EQ(start(d)->words(), "data loss: list:1: no such row");
  EXPECT_THAT(dequeue(1)->words(), StartsWith("data loss: list:1: no such row; therefore"));
}

TEST(TupleDecoder, RefusesABlockWhoseStreamsHaveNotAsManyRecords) {
  const auto one = std::make_shared<test::PlainNumberDecoder>();
  TupleDecoder tuple({one, one});
  RecordBlock block;
  ListedSource longer(numbers_below(3), 3);
  ListedSource shorter(numbers_below(2), 3);
  std::vector<RecordRun> runs;
  for (auto* source : {&longer, &shorter}) {
    source->read(runs, {});
    block.streams.push_back(runs[0]);
  }
  EXPECT_THAT(test::error_of([&] { tuple.decode(block); }),
              test::IsError(Code::invalid_argument, HasSubstr("3 records of list with 2 of list")));
}

TEST_F(DecoderTest, FailsWhenTheQueueRefusesTheLastBlock) {
  give({"1"});
  QueueOptions options;
  options.name = "q";
  options.components = {{"number", {DType::float32, {}}}};
  queue = spawn(fifo_queue, options);
  EXPECT_THAT(start(make())->words(), HasSubstr("is int64 [], but must be float32 []"));
  EXPECT_THAT(dequeue(1)->words(), HasSubstr("but must be float32 []"));
}

TEST_F(DecoderTest, PassesOnWhatStandsBeforeABadRecordInItsBlock) {
  give({"1", "2", "3", "x", "5", "y"}, 2, 1, 6);
  const auto started = start(make());
  EXPECT_TRUE(started->pending()) << "the queue has no room for the third record";
  EXPECT_FALSE(status().closed);
  EXPECT_THAT(take(3), ElementsAre(1, 2, 3));
  EXPECT_EQ(started->words(), "invalid argument: list:4: \"x\" is not a number");
  EXPECT_THAT(dequeue(1)->words(), StartsWith("invalid argument: list:4: "));
}

TEST_F(DecoderTest, PassesOnWhatStandsBeforeTheRecordThatUsesTheBudgetUp) {
  give({"1", "x", "3", "y", "5"}, 9, 1, 5);
  EXPECT_THAT(start(make(std::make_shared<BadRecords>(1)))->words(), HasSubstr("list:4: "));
  EXPECT_THAT(take(2), ElementsAre(1, 3));
}

TEST_F(DecoderTest, MayBeStoppedWhileItPassesOnWhatStandsBeforeABadRecord) {
  give({"1", "2", "3", "x"}, 2, 1, 4);
  const auto d = make();
  const auto started = start(d);
  EXPECT_TRUE(started->pending());
  ask<caf::ok_atom>(d, stop_atom_v);
  EXPECT_FALSE(started->pending());
  EXPECT_TRUE(status().closed);
}

TEST_F(DecoderTest, LeavesOutBadRecordsWithinABudgetAndReportsThem) {
  give({"1", "x", "3", "y"});
  EXPECT_EQ(start(make(std::make_shared<BadRecords>(2)))->value, 2u);
  EXPECT_THAT(take(4), ElementsAre(1, 3));
  EXPECT_THAT(dequeue(1)->words(), HasSubstr("2 bad records were left out, the first: list:2: "));
}

TEST_F(DecoderTest, FailsWhenTheBudgetForBadRecordsIsUsedUp) {
  give({"1", "x", "3", "y"});
  EXPECT_THAT(start(make(std::make_shared<BadRecords>(1)))->words(),
              HasSubstr("list:4: \"y\" is not a number (1 bad records had been left out before"));
}

TEST_F(DecoderTest, ClosesTheQueueWithTheFailureOfItsReader) {
  give({"1"});
  source->fail_at_the_end(Error(Code::data_loss, "list:2: torn"));
  EXPECT_EQ(start(make())->words(), "data loss: list:2: torn");
  EXPECT_THAT(take(1), ElementsAre(1));
  EXPECT_THAT(dequeue(1)->words(), StartsWith("data loss: list:2: torn; therefore"));
}

TEST_F(DecoderTest, ClosesTheQueueWhenItIsStopped) {
  give(numbers_below(100), 2);
  const auto d = make();
  const auto started = start(d);
  ask<caf::ok_atom>(d, stop_atom_v);
  EXPECT_EQ(started->words(), "cancelled: the decoder has been stopped");
  EXPECT_TRUE(status().closed);
  EXPECT_EQ(status().producers, 0);
}

TEST_F(DecoderTest, ClosesTheQueueWhenItDies) {
  give(numbers_below(100), 2);
  const auto d = make();
  const auto started = start(d);
  caf::anon_send_exit(d, caf::exit_reason::kill);
  settle();
  EXPECT_EQ(started->words(), "cancelled: the decoder has been stopped");
  EXPECT_TRUE(status().closed);
  EXPECT_THAT(status().reason.message, HasSubstr("ended without a word"));
}

TEST_F(DecoderTest, EndsWhenTheQueueIsClosed) {
  give(numbers_below(100), 2);
  const auto started = start(make());
  ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{true, {Code::out_of_range, "enough"}});
  EXPECT_EQ(started->words(), "cancelled: FIFOQueue 'q' is closed: enough");
  EXPECT_EQ(status().reason.message, "enough") << "the decoder's end is not the reason";
}

TEST_F(DecoderTest, EndsWhenTheQueueDies) {
  give(numbers_below(100), 2);
  const auto started = start(make());
  caf::anon_send_exit(queue, caf::exit_reason::kill);
  settle();
  EXPECT_EQ(code_of(started->fault), Code::cancelled);
}

TEST_F(DecoderTest, StartsOnce) {
  give(numbers_below(100), 2);
  const auto d = make();
  start(d);
  EXPECT_EQ(code_of(start(d)->fault), Code::failed_precondition);
}

TEST_F(DecoderTest, SharesItsReaderAndQueueWithOthers) {
  give(numbers_below(10), 1000, 3);
  const std::vector<Decoder> decoders = {make(), make(), make()};
  std::uint64_t records = 0;
  for (const auto& d : decoders) {
    EXPECT_FALSE(status().closed) << "the queue waits for those that have not started";
    records += *start(d)->value;
  }
  EXPECT_EQ(records, 10u);
  EXPECT_EQ(take(10).size(), 10u);
  EXPECT_TRUE(status().closed);
}

TEST_F(DecoderTest, WantsADecoderForEachStream) {
  give({"1"});
  const auto d = spawn(decoder, reader, queue,
                       std::make_shared<TupleDecoder>(std::vector<std::shared_ptr<RecordDecoder>>{
                           std::make_shared<test::PlainNumberDecoder>(),
                           std::make_shared<test::PlainNumberDecoder>()}));
  EXPECT_THAT(start(d)->words(), HasSubstr("gives 1 streams of records, but there are decoders "
                                           "for 2"));
}

TEST_F(DecoderTest, TellsAQueueThatExpectsItWhenItIsStoppedBeforeItWasStarted) {
  give(numbers_below(3));
  const auto decoder = make();
  caf::anon_send(queue, expect_atom_v, "decoder 0", caf::actor_cast<caf::actor>(decoder));
  const auto batch = dequeue(1);
  EXPECT_TRUE(batch->pending());
  ask<caf::ok_atom>(decoder, stop_atom_v);
  EXPECT_THAT(batch->words(), StartsWith("cancelled: the decoder has been stopped"));
}

}  // namespace
}  // namespace troupe
