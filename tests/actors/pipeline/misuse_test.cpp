#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>

#include "actors/pipeline/listed_records.h"
#include "support/error_matcher.h"
#include "support/message_of.h"
#include "troupe/actors/pipeline/feed.h"
#include "troupe/actors/pipeline/input_producers.h"
#include "troupe/actors/topology/troupe.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using test::listed;
using test::message_of;
using test::number_examples;
using test::numbers_below;
using test::plain_numbers;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::chrono::minutes kPatience{1};

/// What a pipeline of these examples ends with.
Error end_of(const Examples& examples) {
  return error_of([&] {
    BatchIterator iterator(examples.buffer(8).batch(1, Remainder::keep), {2, 1});
    while (iterator.next()) {
    }
  });
}

// ---- readers of the user's own ---------------------------------------------------------------

/// A source whose read() does what a test says.
class OwnSource : public RecordSource {
 public:
  using Read = std::function<bool(std::vector<RecordRun>&)>;
  explicit OwnSource(Read read) : read_(std::move(read)) {}
  bool read(std::vector<RecordRun>& streams, const BlockLimits&) override { return read_(streams); }
  SourcePosition position() const override { return {0, {{}}}; }
  void seek(const SourcePosition&) override {}
  void restart(std::span<const std::size_t>) override {}
  std::string describe() const override { return "a source of one's own"; }

 private:
  Read read_;
};

Records own(OwnSource::Read read) {
  return {[read = std::move(read)] { return std::make_unique<OwnSource>(read); }, "own records"};
}

Error end_of_source(OwnSource::Read read) {
  return end_of(own(std::move(read)).decode({plain_numbers()}, {.decoders = 2}));
}

TEST(OwnReaders, MayThrowAnything) {
  EXPECT_THAT(end_of_source([](auto&) -> bool { throw Error(Code::data_loss, "torn"); }),
              IsError(Code::data_loss, StartsWith("torn")));
  EXPECT_THAT(end_of_source([](auto&) -> bool { throw std::runtime_error("unplugged"); }),
              IsError(Code::internal, StartsWith("unplugged")));
  EXPECT_THAT(end_of_source([](auto&) -> bool { throw std::bad_alloc(); }),
              IsError(Code::resource_exhausted, StartsWith("out of memory")));
  EXPECT_THAT(end_of_source([](auto&) -> bool { throw 42; }),
              IsError(Code::unknown, HasSubstr("no std::exception")));
  EXPECT_THAT(end_of_source([](auto&) -> bool { throw Error(Code::out_of_range, "at the end"); }),
              IsError(Code::data_loss, StartsWith("at the end")))
      << "a failure is no end of the data";
}

TEST(OwnReaders, MayNotGiveNothingForRecords) {
  EXPECT_THAT(end_of_source([](auto& streams) {
                streams.clear();
                return true;
              }),
              IsError(Code::internal, HasSubstr("a block without records came")));
  EXPECT_THAT(end_of_source([](auto& streams) {
                streams.assign(1, RecordRun());
                return true;
              }),
              IsError(Code::internal, HasSubstr("a source of one's own: a block without records")));
}

TEST(OwnReaders, MayNotGiveRecordsOutsideOfTheirBuffer) {
  const auto with = [](auto change) {
    return end_of_source([change](auto& streams) {
      RecordRun run;
      run.bytes = record_buffer(8);
      run.file = "x";
      run.begins = {kRecordPadding, kRecordPadding + 4};
      run.ends = {kRecordPadding + 4, kRecordPadding + 8};
      change(run);
      streams.assign(1, run);
      return true;
    });
  };
  const auto is_refused =
      IsError(Code::internal, HasSubstr("the reader gives records of x that do not stand in"));
  EXPECT_THAT(with([](RecordRun& run) { run.ends.pop_back(); }), is_refused);
  EXPECT_THAT(with([](RecordRun& run) { run.ends.push_back(70); }), is_refused);
  EXPECT_THAT(with([](RecordRun& run) { ++run.ends[1]; }), is_refused);
  EXPECT_THAT(with([](RecordRun& run) { run.begins[0] = 0; }), is_refused);
  EXPECT_THAT(with([](RecordRun& run) { run.begins[1] = run.ends[1] + 1; }), is_refused);
  EXPECT_THAT(with([](RecordRun& run) { run.ends[1] = 4'000'000'000; }), is_refused);
  EXPECT_THAT(with([](RecordRun& run) { run.bytes = Tensor(); }), is_refused);
  EXPECT_THAT(with([](RecordRun& run) { run.bytes = Tensor(DType::float32, {34}); }), is_refused);
}

TEST(OwnReaders, AreRefusedWhereThereIsNone) {
  EXPECT_THAT(message_of([] {
                const Records records(SourceFactory(), "nothing");
                BatchIterator(records.decode({plain_numbers()}).buffer(8).batch(1, Remainder::keep),
                              {1, 1});
              }),
              HasSubstr("nothing cannot be opened as a source: there is neither"));
  EXPECT_THAT(message_of([] {
                const Records records([]() -> std::unique_ptr<RecordSource> { return nullptr; },
                                      "nothing");
                BatchIterator(records.decode({plain_numbers()}).buffer(8).batch(1, Remainder::keep),
                              {1, 1});
              }),
              HasSubstr("nothing: the factory of sources gave none"));
}

TEST(OwnReaders, ThatAreActorsMayDieAtAnyTime) {
  for (const int blocks : {0, 1, 5}) {
    const auto spawner = [blocks](Troupe& troupe, const std::string& name, const ReaderOptions&) {
      return troupe.spawn(name, [blocks](Reader::pointer self) -> Reader::behavior_type {
        const auto left = std::make_shared<int>(blocks);
        return {
            [self, left, blocks](next_atom) -> caf::result<RecordBlock> {
              if ((*left)-- > 0) {
                RecordBlock block;
                block.sequence = static_cast<std::uint64_t>(blocks - 1 - *left);
                std::vector<RecordRun> streams;
                test::ListedSource({"1", "2"}, 2).read(streams, {});
                block.streams = std::move(streams);
                return block;
              }
              self->quit(caf::exit_reason::unhandled_exception);
              return self->make_response_promise<RecordBlock>();
            },
            [](stop_atom) { return caf::ok_atom_v; },
            [](status_atom) { return StageStatus(); },
            [](snapshot_atom) { return ReaderSnapshot(); },
            [](restore_atom, const ReaderSnapshot&) { return caf::ok_atom_v; },
        };
      });
    };
    const auto records = Records::from_actor(spawner, "an actor");
    EXPECT_EQ(end_of(records.decode({plain_numbers()}, {.decoders = 1})).code(), Code::unavailable)
        << blocks;
  }
}

// ---- decoders and functions of the user's own ------------------------------------------------

/// A decoder that throws something at the third record.
template <class Throw>
DecoderFactory throwing(Throw what) {
  class ThrowingDecoder : public test::PlainNumberDecoder {
   public:
    explicit ThrowingDecoder(Throw what) : what_(what) {}
    void decode(const RecordRun& run, std::size_t i, Element& element) override {
      if (run.number_of(i) == 3) what_();
      PlainNumberDecoder::decode(run, i, element);
    }

   private:
    Throw what_;
  };
  return [what] { return std::make_shared<ThrowingDecoder>(what); };
}

template <class Throw>
Error end_of_decoder(Throw what) {
  return end_of(listed(numbers_below(5)).decode({throwing(what)}));
}

TEST(OwnDecoders, MayThrowAnything) {
  EXPECT_THAT(end_of_decoder([] { throw std::out_of_range("vector::at"); }),
              IsError(Code::internal, StartsWith("list:3: vector::at; therefore")));
  EXPECT_THAT(end_of_decoder([] { throw std::bad_alloc(); }),
              IsError(Code::resource_exhausted, StartsWith("out of memory")));
  EXPECT_THAT(end_of_decoder([] { throw 42; }),
              IsError(Code::unknown, HasSubstr("no std::exception")));
}

TEST(OwnDecoders, HaveBadRecordsWhateverTheyThrow) {
  const auto examples =
      listed(numbers_below(5))
          .decode({throwing([] { throw std::out_of_range("x"); })}, {.skip_bad_records = 1});
  EXPECT_EQ(test::all_numbers(examples.buffer(8).batch(2, Remainder::keep)).size(), 4u);
}

TEST(OwnDecoders, AreRefusedWhereThereIsNone) {
  const auto records = listed(numbers_below(5));
  EXPECT_THAT(message_of([&] { (void)records.decode({}); }), HasSubstr("but none was given"));
  EXPECT_THAT(message_of([&] { (void)records.decode({DecoderFactory()}); }),
              HasSubstr("a list: the factory of decoder 0 gave none"));
  EXPECT_THAT(message_of([&] {
                (void)records.decode(
                    {plain_numbers(), []() -> std::shared_ptr<RecordDecoder> { return nullptr; }});
              }),
              HasSubstr("the factory of decoder 1 gave none"));
  EXPECT_THAT(message_of([&] { (void)number_examples(0, 3).map(ElementMap()); }),
              HasSubstr("map needs a function"));
  EXPECT_THAT(message_of([&] { (void)number_examples(0, 3).filter(ElementFilter()); }),
              HasSubstr("filter needs a function"));
}

TEST(OwnFunctions, MayThrowAnything) {
  const auto end = [](auto what) {
    return end_of(number_examples(1, 9).map([what](Element element) -> Element {
      if (element[0].read<std::int64_t>()[0] == 3) what();
      return element;
    }));
  };
  EXPECT_THAT(end([] { throw std::runtime_error("x"); }),
              IsError(Code::internal, StartsWith("list:3: x")));
  EXPECT_THAT(end([] { throw 42; }), IsError(Code::unknown, HasSubstr("no std::exception")));
  EXPECT_THAT(end([] { throw std::bad_alloc(); }),
              IsError(Code::resource_exhausted, StartsWith("out of memory")));
}

TEST(OwnFunctions, MayNotChangeWhatElementsLookLike) {
  const auto end = [](const Element& made) {
    return end_of(number_examples(1, 9).map([made](const Element&) { return made; }));
  };
  EXPECT_THAT(end({}), IsError(Code::invalid_argument, HasSubstr("has 0 components")));
  EXPECT_THAT(end({Tensor()}), IsError(Code::invalid_argument, HasSubstr("must be int64 []")));
  EXPECT_THAT(end({Tensor(DType::string, {})}),
              IsError(Code::invalid_argument, HasSubstr("must be int64 []")));
}

// ---- numbers that nobody means ---------------------------------------------------------------

TEST(PipelineNumbers, MayBeAnything) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const auto examples = number_examples(0, 3);
  for (const auto bad :
       {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0}, kMost}) {
    EXPECT_THROW((void)examples.batch(bad, Remainder::keep), Error) << bad;
    EXPECT_THROW((void)examples.padded_batch(bad, Remainder::keep), Error) << bad;
    EXPECT_THROW((void)examples.batch(1, Remainder::keep).prefetch(bad), Error) << bad;
    EXPECT_THROW((void)examples.shuffle({.capacity = 5, .min_after_dequeue = bad == 0 ? 5 : bad}),
                 Error)
        << bad;
    if (bad == kMost) continue;
    EXPECT_THROW((void)examples.buffer(bad), Error) << bad;
    EXPECT_THROW((void)examples.shuffle({.capacity = bad}), Error) << bad;
  }
  for (const int bad : {std::numeric_limits<int>::min(), -1, 1025, std::numeric_limits<int>::max()})
    EXPECT_THROW((void)listed({"1"}).decode({plain_numbers()}, {.decoders = bad}), Error) << bad;
  EXPECT_THROW((void)listed({"1"}).decode({plain_numbers()}, {.skip_bad_records = -1}), Error);
  EXPECT_THROW((void)listed({"1"}).repeat(-1), Error);
  EXPECT_THROW(BatchIterator(examples.buffer(1).batch(1, Remainder::keep), {-1, 1}), Error);
  EXPECT_THAT(end_of(listed({"1"}).decode({plain_numbers()}, {.block_records = 0})),
              IsError(Code::invalid_argument, HasSubstr("at least 1 record and 1 byte")));
  EXPECT_THAT(test::all_numbers(examples.buffer(kMost).batch(2, Remainder::keep)),
              ElementsAre(0, 1, 2));
  EXPECT_EQ(examples.buffer(kMost).batch(2, Remainder::keep).memory_bound(1),
            std::numeric_limits<std::uint64_t>::max());
}

TEST(PipelineNumbers, OfAFeedMayBeAnything) {
  const std::vector<QueueComponent> number{{"n", {DType::int64, {}}}};
  EXPECT_THROW(Feed({}), Error);
  EXPECT_THROW(Feed(number, {.capacity = 0}), Error);
  EXPECT_THROW(Feed(number, {.capacity = -1}), Error);
  EXPECT_THROW(Feed(number, {.capacity_bytes = 0}), Error);
  Feed feed(number, {.capacity = std::numeric_limits<std::int64_t>::max(),
                     .capacity_bytes = std::numeric_limits<std::uint64_t>::max()});
  feed.push({Tensor::scalar<std::int64_t>(1)}, Timeout::max());
  feed.push({Tensor::scalar<std::int64_t>(2)}, Timeout::zero());
  EXPECT_THROW(feed.push({}), Error);
  EXPECT_THROW(feed.push({Tensor()}), Error);
  EXPECT_THROW(feed.push({Tensor::scalar<std::int64_t>(1), Tensor::scalar<std::int64_t>(1)}),
               Error);
  EXPECT_THROW(feed.push_rows({}), Error);
  EXPECT_THROW(feed.push_rows({Tensor::scalar<std::int64_t>(1)}), Error);
  EXPECT_THROW(feed.push_rows({Tensor(DType::float32, {1})}), Error);
  EXPECT_NO_THROW(feed.push_rows({Tensor(DType::int64, {0})}));
  feed.close();
  feed.close();
  feed.fail(Error(Code::internal, "too late"));
  BatchIterator iterator(feed.examples().buffer(8).batch(8, Remainder::keep), {1, 1});
  EXPECT_EQ(iterator.next(Timeout::max())->rows(), 2);
  EXPECT_FALSE(iterator.next(Timeout::zero()));
  EXPECT_FALSE(iterator.next()) << "the end stays the end";
  EXPECT_TRUE(iterator.stop(std::chrono::milliseconds::max()).empty());
  EXPECT_TRUE(iterator.stop(std::chrono::milliseconds::min()).empty()) << "there is nothing left";
  EXPECT_THAT(error_of([&] { iterator.next(); }), IsError(Code::cancelled, HasSubstr("stopped")));
}

// ---- the order in which things go ------------------------------------------------------------

TEST(EndsOfThings, ComeInAnyOrder) {
  auto batches = std::make_unique<Batches>(number_examples(0, 1000)
                                               .shuffle({.capacity = 20, .min_after_dequeue = 5})
                                               .batch(3, Remainder::keep));
  BatchIterator iterator(*batches, {2, 1});
  batches.reset();
  EXPECT_TRUE(iterator.next());
  std::optional<Batch> kept;
  {
    BatchIterator other(number_examples(0, 1000).buffer(8).batch(3, Remainder::keep), {2, 1});
    kept = other.next();
  }
  EXPECT_EQ(kept->rows(), 3) << "a batch lives longer than what made it";
}

TEST(EndsOfThings, MayComeBeforeAnythingWasRead) {
  for (int i = 0; i < 20; ++i)
    BatchIterator(number_examples(0, 1000).buffer(8).batch(3, Remainder::keep), {1, 1});
  auto feed = Feed({{"n", {DType::int64, {}}}});
  { const BatchIterator iterator(feed.examples().buffer(8).batch(3, Remainder::keep), {1, 1}); }
  EXPECT_THAT(error_of([&] {
                while (true) feed.push({Tensor::scalar<std::int64_t>(1)});
              }),
              IsError(Code::cancelled, HasSubstr("is not read any more")));
}

TEST(EndsOfThings, AreSeenByThoseWhoAskAfterwards) {
  Troupe troupe({1, 1});
  const auto running =
      number_examples(0, 2).buffer(8).batch(3, Remainder::keep).spawn(troupe, "", 1);
  for (const auto& [name, decoder] : running.decoders) {
    EXPECT_EQ(troupe.ask<caf::ok_atom>(decoder, kPatience, stop_atom_v), caf::ok_atom_v);
    EXPECT_THROW(troupe.ask<std::uint64_t>(decoder, kPatience, start_atom_v), Error);
  }
  EXPECT_THAT(message_of([&] {
                troupe.ask<Batch>(running.queue, kPatience, dequeue_atom_v, DequeueRequest{});
              }),
              HasSubstr("the decoder has been stopped"));
}

// ---- producers that do not come --------------------------------------------------------------

/// A pipeline that was spawned, and whose decoders nobody has started.
class UnstartedPipeline : public ::testing::TestWithParam<bool> {
 protected:
  Batches batches(const Examples& examples) const {
    const auto all = examples.buffer(8).batch(3, Remainder::keep);
    return GetParam() ? all.in_order() : all;
  }
  std::string words_of_a_dequeue(const Queue& queue) {
    return message_of(
        [&] { troupe.ask<Batch>(queue, kPatience, dequeue_atom_v, DequeueRequest{}); });
  }
  Troupe troupe{ThreadBudget{1, 1}};
};

INSTANTIATE_TEST_SUITE_P(Pipelines, UnstartedPipeline, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "InOrder" : "InAnyOrder");
});

TEST_P(UnstartedPipeline, SaysAtOnceWhichDecoderIsDead) {
  const auto running = batches(number_examples(0, 100)).spawn(troupe, "", 1);
  caf::anon_send_exit(running.decoders.at(1).second, caf::exit_reason::kill);
  EXPECT_THAT(words_of_a_dequeue(running.queue), HasSubstr("'decoder 1'"))
      << "and not after half a minute";
}

TEST_P(UnstartedPipeline, SaysAtOnceThatItsFeedIsDead) {
  Feed feed({{"n", {DType::int64, {}}}}, {.name = "camera"});
  const auto running = batches(feed.examples()).spawn(troupe, "", 1);
  caf::anon_send_exit(running.decoders.at(0).second, caf::exit_reason::kill);
  EXPECT_THAT(words_of_a_dequeue(running.queue), HasSubstr("feed 'camera'"));
}

TEST_P(UnstartedPipeline, SaysAtOnceThatItsFeedHasBeenStopped) {
  Feed feed({{"n", {DType::int64, {}}}});
  const auto running = batches(feed.examples()).spawn(troupe, "", 1);
  troupe.ask<caf::ok_atom>(running.decoders.at(0).second, kPatience, stop_atom_v);
  EXPECT_THAT(words_of_a_dequeue(running.queue), HasSubstr("the feed has been stopped"));
  EXPECT_THROW(troupe.ask<std::uint64_t>(running.decoders.at(0).second, kPatience, start_atom_v),
               Error);
}

TEST(DeadProducers, OfNamesAreMissedAtOnce) {
  Troupe troupe(ThreadBudget{1, 1});
  const auto names = range_input_producer(troupe, "numbers", 3, {}, 2);
  caf::anon_send_exit(names.producer, caf::exit_reason::kill);
  EXPECT_THAT(message_of([&] {
                while (true)
                  troupe.ask<Batch>(names.queue, kPatience, dequeue_atom_v, DequeueRequest{});
              }),
              HasSubstr("FIFOQueue 'numbers'"));
}

// ---- several threads -------------------------------------------------------------------------

TEST(SeveralThreads, MayPushCloseAndStopAtTheSameTime) {
  for (int round = 0; round < 30; ++round) {
    Feed feed({{"n", {DType::int64, {}}}}, {.capacity = 3});
    BatchIterator iterator(feed.examples().buffer(2).batch(2, Remainder::keep), {2, 1});
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([feed]() mutable {
        try {
          while (true) feed.push({Tensor::scalar<std::int64_t>(1)});
        } catch (const Error&) {
          // Closed, failed or stopped: whichever comes first.
        }
      });
    threads.emplace_back([feed, round]() mutable {
      if (round % 3 == 0) feed.close();
      if (round % 3 == 1) feed.fail(Error(Code::internal, "x"));
    });
    try {
      for (int i = 0; i < 5 && iterator.next(); ++i) {
      }
    } catch (const Error&) {
      // Of fail().
    }
    EXPECT_TRUE(iterator.stop(kPatience).empty());
    for (auto& thread : threads) thread.join();
  }
}

TEST(SeveralThreads, MayEachReadAPipelineOfTheSameDescription) {
  const auto batches = number_examples(0, 300).buffer(8).batch(7, Remainder::keep);
  std::vector<std::thread> threads;
  std::atomic<std::int64_t> sum{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&batches, &sum] {
      for (const auto number : test::all_numbers(batches)) sum += number;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum.load(), 4 * 300 * 299 / 2);
}

}  // namespace
}  // namespace troupe
