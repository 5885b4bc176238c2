#include "troupe/queues/random_shuffle_queue.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "queues/queue_driver.h"
#include "support/actor_test.h"
#include "troupe/ops/error.h"
#include "troupe/queues/random_shuffle_store.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

test::QueueDriver shuffle(std::int64_t capacity, std::int64_t floor, std::uint64_t seed = 1) {
  RandomShuffleQueueOptions options;
  options.name = "q";
  options.capacity = capacity;
  options.min_after_dequeue = floor;
  options.seed = seed;
  return test::QueueDriver(options, random_shuffle_kind(options));
}

std::vector<std::int64_t> one_to(std::int64_t n) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(RandomShuffleQueue, KeepsTheFloorWhileItIsOpen) {
  auto queue = shuffle(10, 2);
  queue.enqueue({1, 2});
  const auto batch = queue.dequeue(1);
  EXPECT_TRUE(batch->pending());
  queue.enqueue({3});
  EXPECT_FALSE(batch->pending());
  EXPECT_EQ(queue.core.status().size, 2);
}

TEST(RandomShuffleQueue, TestsTheFloorForEachElementOfABatch) {
  auto queue = shuffle(10, 2);
  const auto batch = queue.dequeue(3);
  queue.enqueue({1, 2, 3, 4});
  EXPECT_TRUE(batch->pending());
  EXPECT_EQ(queue.core.status().size, 2) << "two have been taken, two must stay";
  queue.enqueue({5});
  EXPECT_FALSE(batch->pending());
}

TEST(RandomShuffleQueue, DrainsBelowTheFloorAfterTheClose) {
  auto queue = shuffle(10, 2);
  queue.enqueue({1, 2, 3});
  queue.close();
  EXPECT_THAT(*queue.dequeue(3)->value, UnorderedElementsAre(1, 2, 3));
}

TEST(RandomShuffleQueue, DrawsWhenItIsFullOnlyIfItIsToldTo) {
  QueueOptions options;
  options.capacity = 3;
  options.only_when_full = true;
  test::QueueDriver queue(options, std::make_unique<RandomShuffleStore>(1, 1));
  const auto batch = queue.dequeue(2);
  queue.enqueue({1, 2, 3});
  EXPECT_EQ(queue.core.status().size, 3) << "full, but nobody waits for room";
  queue.enqueue({4});
  EXPECT_TRUE(batch->pending());
  queue.enqueue({5});
  EXPECT_FALSE(batch->pending());
  queue.close();
  EXPECT_EQ(queue.dequeue(3)->value->size(), 3u);
}

TEST(RandomShuffleQueue, GivesNothingAfterItWasCancelledIfItIsToKeepWhatItHas) {
  QueueOptions options;
  options.capacity = 3;
  options.readers = 1;
  options.only_when_full = options.keeps_when_cancelled = true;
  test::QueueDriver queue(options, std::make_unique<RandomShuffleStore>(1, 1));
  const auto batch = queue.dequeue(4);
  queue.enqueue({1, 2, 3, 4, 5});  // two are drawn, for which there is more
  queue.core.close({true, {Code::cancelled, "enough"}}, [](const caf::error&) {});
  EXPECT_EQ(batch->code(), Code::cancelled);
  EXPECT_EQ(queue.dequeue(1)->code(), Code::cancelled);
  const auto kept = queue.core.snapshot();
  EXPECT_EQ(kept.leaving.size(), 2u) << "for the batch that comes first";
  EXPECT_EQ(kept.inside.elements.size() + kept.arriving.size(), 3u);
  EXPECT_EQ(kept.batches, 0u);
}

TEST(RandomShuffleQueue, IsFullWhenItsBytesAre) {
  QueueOptions options;
  options.capacity_bytes = 3 * sizeof(std::int64_t);
  options.only_when_full = true;
  test::QueueDriver queue(options, std::make_unique<RandomShuffleStore>(1, 1));
  const auto batch = queue.dequeue(1);
  queue.enqueue({1, 2, 3});
  EXPECT_TRUE(batch->pending());
  queue.enqueue({4});
  EXPECT_FALSE(batch->pending());
}

TEST(RandomShuffleQueue, PutsBackWhatADequeueTookInVain) {
  auto queue = shuffle(10, 0);
  const auto many = queue.dequeue(4);
  queue.enqueue({1, 2, 3});
  queue.close();
  EXPECT_EQ(many->code(), Code::out_of_range);
  EXPECT_THAT(*queue.dequeue(3)->value, UnorderedElementsAre(1, 2, 3));
}

TEST(RandomShuffleQueue, GathersABatchLargerThanItsCapacity) {
  auto queue = shuffle(4, 3);
  const auto batch = queue.dequeue(10);
  queue.enqueue(one_to(13));
  EXPECT_EQ(batch->value->size(), 10u);
}

TEST(RandomShuffleQueue, NeedsAFloorBelowItsCapacity) {
  EXPECT_THROW(shuffle(4, 4), Error);
  EXPECT_THROW(shuffle(4, -1), Error);
  EXPECT_NO_THROW(shuffle(QueueOptions::kUnbounded, 100));
}

TEST(RandomShuffleQueue, RefusesAnAtomicBlockThatTheFloorKeepsOut) {
  auto queue = shuffle(4, 2);
  queue.enqueue({1, 2, 3});
  const auto block = queue.enqueue({4, 5, 6}, {.atomic = true});
  queue.dequeue(1);
  EXPECT_EQ(block->code(), Code::resource_exhausted);
}

TEST(RandomShuffleQueue, GivesTheSameOrderForTheSameSeed) {
  const auto order = [](std::uint64_t seed) {
    auto queue = shuffle(100, 0, seed);
    queue.enqueue(one_to(100));
    return *queue.dequeue(100)->value;
  };
  EXPECT_EQ(order(7), order(7));
  EXPECT_NE(order(7), order(8));
  auto sorted = order(7);
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, one_to(100));
}

// With 10 elements inside, each of them is the next with probability 1/10.
TEST(RandomShuffleQueue, ChoosesEveryElementEquallyOften) {
  std::vector<int> first(10);
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    auto queue = shuffle(10, 0, seed);
    queue.enqueue(one_to(10));
    ++first[static_cast<std::size_t>(queue.dequeue(1)->value->at(0) - 1)];
  }
  double chi_squared = 0;
  for (const int count : first) chi_squared += std::pow(count - 500.0, 2) / 500.0;
  EXPECT_LT(chi_squared, 27.88) << "the 99.9 % quantile for 9 degrees of freedom";
}

TEST(RandomShuffleStore, GoesOnWhereItsPositionSays) {
  RandomShuffleStore a(0, 3);
  RandomShuffleStore b(0, 3);
  const auto fill = [](RandomShuffleStore& store) {
    for (std::int64_t i = 0; i < 20; ++i) store.put(test::number(i));
  };
  fill(a);
  for (int i = 0; i < 20; ++i) a.take();
  fill(a);
  fill(b);
  b.seek(a.position());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(a.take()[0], b.take()[0]);
}

class RandomShuffleQueueActor : public test::ActorTest {};

TEST_F(RandomShuffleQueueActor, SpeaksTheWordsOfAQueue) {
  RandomShuffleQueueOptions options;
  options.min_after_dequeue = 1;
  const Queue queue = spawn(random_shuffle_queue, options);
  ask<caf::ok_atom>(queue, enqueue_atom_v, test::block_of({4, 5, 6}), EnqueueOptions{});
  EXPECT_EQ(ask<Batch>(queue, dequeue_atom_v, DequeueRequest{2})->value->rows(), 2);
  const auto rest = ask<Batch>(queue, dequeue_atom_v, DequeueRequest{1});
  EXPECT_TRUE(rest->pending());
  ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{});
  EXPECT_EQ(rest->value->rows(), 1);
}

}  // namespace
}  // namespace troupe
