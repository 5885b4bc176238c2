#include "troupe/actors/pipeline/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "support/error_matcher.h"
#include "support/message_of.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/pipeline/feed_state.h"
#include "troupe/actors/topology/troupe.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Element number(std::int64_t value) { return {Tensor::scalar(value)}; }

Feed number_feed(std::int64_t capacity = 256) {
  return Feed({{"n", {DType::int64, {}}}}, {.name = "numbers", .capacity = capacity});
}

Batches batches_of(const Feed& feed, std::int64_t rows = 2) {
  return feed.examples().buffer(4).batch(rows, Remainder::keep);
}

std::vector<std::int64_t> rest(BatchIterator& iterator) {
  std::vector<std::int64_t> all;
  while (const auto batch = iterator.next())
    for (const auto value : batch->components.at(0).read<std::int64_t>()) all.push_back(value);
  return all;
}

/// The error of a push that the state of the pipeline makes fail sooner or later.
std::string words_when_refused(Feed& feed) {
  return message_of([&] {
    while (true) feed.push(number(0));
  });
}

TEST(Feed, GivesWhatWasPushedInItsOrder) {
  auto feed = number_feed();
  for (int i = 0; i < 5; ++i) feed.push(number(i));  // before anything runs
  feed.close();
  BatchIterator iterator(batches_of(feed), {2, 1});
  EXPECT_THAT(rest(iterator), ElementsAre(0, 1, 2, 3, 4));
}

TEST(Feed, TakesRowsOfTensors) {
  auto feed = number_feed();
  feed.push_rows({Tensor::of<std::int64_t>({3}, {7, 8, 9})});
  feed.close();
  BatchIterator iterator(batches_of(feed), {2, 1});
  EXPECT_THAT(rest(iterator), ElementsAre(7, 8, 9));
}

TEST(Feed, TakesFromSeveralThreadsAndMakesThemWait) {
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  auto feed = number_feed(8);
  BatchIterator iterator(batches_of(feed, 16), {2, 1});
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([feed, t, &running]() mutable {
      for (int i = 0; i < kEach; ++i) feed.push(number(t * kEach + i));
      if (--running == 0) feed.close();
    });
  auto all = rest(iterator);
  for (auto& thread : threads) thread.join();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kThreads * kEach));
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
}

TEST(Feed, LetsAPushWaitNoLongerThanItsTime) {
  auto feed = number_feed(2);
  feed.push(number(0));
  feed.push(number(1));
  EXPECT_EQ(message_of([&] { feed.push(number(2), Timeout(1)); }),
            "feed 'numbers': 2 elements have waited for 1 ms, but no pipeline that reads from it "
            "has been started");
}

TEST(Feed, RefusesWhatIsNotAsDeclared) {
  auto feed = number_feed();
  EXPECT_EQ(
      message_of([&] { feed.push({Tensor(DType::float32, {3})}); }),
      "feed 'numbers': component 0 'n' of an element is int64 [], but float32 [3] was pushed");
  EXPECT_THAT(message_of([&] { feed.push({}); }), HasSubstr("has 1 components, but one with 0"));
  EXPECT_THAT(message_of([&] { feed.push_rows({Tensor(DType::int64, {})}); }),
              HasSubstr("need the same first extent"));
}

TEST(Feed, RefusesAnElementThatIsLargerThanItself) {
  Feed feed({{"bytes", {DType::uint8, {-1}}}}, {.capacity_bytes = 100});
  feed.push({Tensor(DType::uint8, {100})});
  EXPECT_THAT(message_of([&] { feed.push({Tensor(DType::uint8, {101})}); }),
              HasSubstr("101 bytes was pushed, but the feed holds 100"));
}

TEST(Feed, SaysThatItWasClosed) {
  auto feed = number_feed();
  feed.close();
  feed.close();
  EXPECT_EQ(message_of([&] { feed.push(number(1)); }),
            "feed 'numbers' was closed: nothing can be pushed any more");
}

TEST(Feed, TellsTheConsumerWhyItFailedAndThePusherToo) {
  auto feed = number_feed();
  BatchIterator iterator(batches_of(feed), {2, 1});
  feed.fail(Error(Code::unavailable, "the camera is gone"));
  EXPECT_THAT(message_of([&] { iterator.next(); }), StartsWith("the camera is gone"));
  EXPECT_EQ(message_of([&] { feed.push(number(1)); }),
            "feed 'numbers' has failed: the camera is gone");
}

TEST(Feed, WakesWhoeverPushesWhenThePipelineEnds) {
  auto feed = number_feed(1);
  auto iterator = std::make_unique<BatchIterator>(batches_of(feed), ThreadBudget{2, 1});
  std::string words;
  std::thread pusher([&] { words = words_when_refused(feed); });
  EXPECT_TRUE(iterator->next());
  iterator.reset();
  pusher.join();
  EXPECT_THAT(words, StartsWith("feed 'numbers' is not read any more: "));
}

TEST(Feed, TellsWhoeverPushesWhatThePipelineFailedWith) {
  auto feed = number_feed(1);
  const auto picky = [](Element element) {
    if (element[0].read<std::int64_t>()[0] == 3) fail(Code::invalid_argument, "not 3");
    return element;
  };
  BatchIterator iterator(feed.examples().map(picky).buffer(4).batch(2, Remainder::keep), {2, 1});
  const auto words = message_of([&] {
    for (int i = 0;; ++i) feed.push(number(i));
  });
  EXPECT_EQ(words, "feed 'numbers' is not read any more: feed 'numbers', element 4: not 3");
  EXPECT_THAT(message_of([&] { rest(iterator); }), StartsWith("feed 'numbers', element 4: not 3"));
}

TEST(Feed, IsCancelledForWhoeverPushesWhateverThePipelineEndedWith) {
  for (const auto code : {Code::cancelled, Code::unavailable, Code::data_loss, Code::ok}) {
    const auto feed = std::make_shared<FeedState>(
        std::vector<QueueComponent>{{"n", {DType::int64, {}}}}, FeedOptions{.name = "numbers"});
    feed->end(Error(code, "the queue is gone"));
    EXPECT_THAT(error_of([&] { feed->push(number(1), kForever); }),
                IsError(Code::cancelled,
                        StartsWith("feed 'numbers' is not read any more: the queue is gone")));
  }
}

TEST(Feed, IsCancelledWhenItsQueueGoesFirst) {
  Troupe troupe({1, 1});
  auto feed = number_feed(1);
  const auto running = batches_of(feed).spawn(troupe, "", 0);
  caf::scoped_actor self{troupe.system()};
  self->monitor(running.queue);
  self->send_exit(running.queue, caf::exit_reason::user_shutdown);
  self->receive([](const caf::down_msg&) {});
  for (const auto& [name, decoder] : running.decoders) troupe.tell(decoder, start_atom_v);
  EXPECT_THAT(error_of([&] {
                while (true) feed.push(number(0));
              }),
              IsError(Code::cancelled, StartsWith("feed 'numbers' is not read any more: ")));
}

TEST(Feed, ServesOneRunOnly) {
  auto feed = number_feed();
  feed.push(number(1));
  feed.close();
  {
    BatchIterator first(batches_of(feed), {2, 1});
    EXPECT_THAT(rest(first), ElementsAre(1));
  }
  BatchIterator second(batches_of(feed), {2, 1});
  EXPECT_THAT(message_of([&] { second.next(); }), HasSubstr("each run needs a feed of its own"));
}

TEST(Feed, MayBeJoinedWithRecordsAndOtherFeeds) {
  auto one = number_feed();
  auto two = number_feed();
  one.push(number(1));
  two.push(number(2));
  one.push(number(3));
  one.close();
  two.close();
  BatchIterator iterator(join({one.examples(), two.examples()}).buffer(4).batch(3, Remainder::keep),
                         {2, 1});
  EXPECT_THAT(rest(iterator), ::testing::UnorderedElementsAre(1, 2, 3));
}

// ---- feeds that nobody holds -----------------------------------------------------------------

TEST(Feed, EndsTheDataWhenItIsDroppedWithoutAWord) {
  auto feed = std::make_unique<Feed>(number_feed());
  BatchIterator iterator(batches_of(*feed), {2, 1});
  feed->push(number(1));
  feed->push(number(2));
  feed->push(number(3));
  feed.reset();
  EXPECT_EQ(iterator.next()->rows(), 2) << "what was pushed comes first";
  EXPECT_EQ(iterator.next()->rows(), 1);
  EXPECT_THAT(message_of([&] { iterator.next(); }),
              StartsWith("feed 'numbers' was dropped by whoever filled it, and never closed"));
}

TEST(Feed, EndsTheDataWhenItIsDroppedBeforeAnythingRuns) {
  BatchIterator iterator(batches_of(number_feed()), {2, 1});
  EXPECT_THAT(message_of([&] { iterator.next(); }), HasSubstr("dropped by whoever filled it"));
}

TEST(Feed, LivesAsLongAsACopy) {
  std::optional<Feed> feed = number_feed();
  auto copy = *feed;
  BatchIterator iterator(batches_of(*feed), {2, 1});
  feed.reset();
  copy.push(number(1));
  copy.close();
  EXPECT_THAT(rest(iterator), ElementsAre(1));
}

TEST(Feed, IsDroppedByAThreadThatThrows) {
  auto feed = number_feed();
  BatchIterator iterator(batches_of(feed), {2, 1});
  std::thread producer([feed = std::move(feed)]() mutable {
    try {
      const auto mine = std::move(feed);
      throw std::runtime_error("the camera is gone");
    } catch (const std::exception&) {
      // As a thread of a user's may, that says nothing to anybody.
    }
  });
  EXPECT_THAT(message_of([&] { iterator.next(); }), HasSubstr("dropped by whoever filled it"));
  producer.join();
}

TEST(Feed, SaysThatItWasMovedFrom) {
  auto feed = number_feed();
  auto other = std::move(feed);
  const auto moved_from = [](const auto& use) {
    EXPECT_THAT(message_of(use), HasSubstr("a feed is used that was moved from"));
  };
  moved_from([&] { feed.push(number(1)); });  // NOLINT: that is what is tested
  moved_from([&] { feed.push_rows({Tensor(DType::int64, {2})}); });
  moved_from([&] { feed.close(); });
  moved_from([&] { feed.fail(Error(Code::internal, "x")); });
  moved_from([&] { (void)feed.examples(); });
  feed = other;
  feed.push(number(1));
}

}  // namespace
}  // namespace troupe
