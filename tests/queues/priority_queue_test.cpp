#include "troupe/queues/priority_queue.h"

#include <gmock/gmock.h>

#include "queues/queue_driver.h"
#include "support/actor_test.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

QueueOptions holding(std::int64_t capacity, std::uint64_t bytes = 0) {
  QueueOptions options;
  options.name = "q";
  options.capacity = capacity;
  options.capacity_bytes = bytes;
  return options;
}

/// Elements with the priorities, numbered from `first` in their order.
ElementBlock with(const std::vector<std::int64_t>& priorities, std::int64_t first = 1) {
  ElementBlock block;
  for (const auto priority : priorities)
    block.elements.push_back(
        {Tensor::scalar<std::int64_t>(priority), Tensor::scalar<std::int64_t>(first++)});
  return block;
}

class PriorityQueue : public ::testing::Test {
 protected:
  test::QueueDriver queue{holding(4), priority_kind({})};
};

TEST_F(PriorityQueue, GivesTheSmallestFirst) {
  queue.enqueue_block(with({5, -3, 9, 0}));
  EXPECT_THAT(*queue.dequeue(4)->value, ElementsAre(2, 4, 1, 3));
}

TEST_F(PriorityQueue, KeepsTheOrderOfEqualPriorities) {
  queue.enqueue_block(with({1, 0, 1, 0}));
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(2, 4, 1));
  queue.enqueue_block(with({1, 0}, 5));
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(6, 3, 5));
}

TEST_F(PriorityQueue, WaitsUntilAllAreInsideTogether) {
  const auto batch = queue.dequeue(3);
  queue.enqueue_block(with({7, 6}));
  EXPECT_TRUE(batch->pending());
  EXPECT_EQ(queue.core.status().size, 2) << "nothing is taken ahead";
  queue.enqueue_block(with({1}, 3));
  EXPECT_THAT(*batch->value, ElementsAre(3, 2, 1)) << "the last to come is the first of all";
}

TEST_F(PriorityQueue, RefusesAtOnceWhatCanNeverBeInsideTogether) {
  const auto batch = queue.dequeue(5);
  EXPECT_EQ(batch->code(), Code::invalid_argument);
  EXPECT_EQ(batch->words(),
            "PriorityQueue 'q': a dequeue of 5 elements can never be served: they must all be "
            "inside together, and the capacity is 4 (QueueOptions::capacity)");
  test::QueueDriver unbounded(holding(QueueOptions::kUnbounded), priority_kind({}));
  EXPECT_TRUE(unbounded.dequeue(5)->pending());
}

TEST_F(PriorityQueue, UpToGetsAFullQueueWhenNoMoreCanBeInside) {
  queue.enqueue_block(with({4, 3, 2}));
  const auto batch = queue.dequeue(9, true);
  EXPECT_TRUE(batch->pending());
  const auto block = queue.enqueue_block(with({1, 0}, 4));
  EXPECT_THAT(*batch->value, ElementsAre(4, 3, 2, 1)) << "there was no room for the last one";
  EXPECT_FALSE(block->pending());
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(5));
}

TEST_F(PriorityQueue, UpToGetsTheRestAfterTheClose) {
  queue.enqueue_block(with({2, 1}));
  const auto rest = queue.dequeue(9, true);
  queue.close();
  EXPECT_THAT(*rest->value, ElementsAre(2, 1));
  EXPECT_EQ(queue.dequeue(9, true)->code(), Code::out_of_range);
}

TEST_F(PriorityQueue, NeedsThemAllAfterTheCloseToo) {
  queue.enqueue_block(with({2, 1}));
  queue.close();
  EXPECT_EQ(queue.dequeue(3)->words(),
            "PriorityQueue 'q' is closed and has insufficient elements (requested 3, current size "
            "2): end of data");
  EXPECT_THAT(*queue.dequeue(2)->value, ElementsAre(2, 1));
}

TEST(PriorityQueueBytes, AnswerADequeueAndAnEnqueueThatWouldWaitForEachOther) {
  test::QueueDriver queue(holding(10, 32), priority_kind({}));
  const auto batch = queue.dequeue(3);
  const auto block = queue.enqueue_block(with({1, 2, 3}));
  EXPECT_EQ(batch->code(), Code::resource_exhausted);
  EXPECT_THAT(batch->words(), HasSubstr("a dequeue waits for 3 elements to be inside together, and "
                                        "an enqueue for room: the queue holds 2 of at most 10 "
                                        "elements and 32 of at most 32 bytes"));
  EXPECT_TRUE(block->pending());
  EXPECT_THAT(*queue.dequeue(2)->value, ElementsAre(1, 2));
  EXPECT_FALSE(block->pending());
}

TEST_F(PriorityQueue, NeedsAScalarPriority) {
  const auto block = queue.enqueue_block(
      ElementBlock{0, {{Tensor(DType::int64, {2}), Tensor::scalar<std::int64_t>(1)}}});
  EXPECT_EQ(block->code(), Code::invalid_argument);
  EXPECT_EQ(block->words(),
            "PriorityQueue 'q': element 0 of the block: expected the priority (component 0) to be "
            "a scalar, but received shape [2]");
  EXPECT_THAT(queue.enqueue_block(ElementBlock{0, {{Tensor::scalar<float>(1)}}})->words(),
              HasSubstr("to be int64, but received float32"));
}

TEST_F(PriorityQueue, RefusesComponentsWithoutAPriority) {
  auto options = holding(4);
  options.components = {{"image", {DType::float32, {2}}}};
  EXPECT_THROW(priority_kind(options), Error);
  options.components = {{"priority", {DType::int64, {}}}, {"image", {DType::float32, {2}}}};
  EXPECT_NO_THROW(priority_kind(options));
}

TEST_F(PriorityQueue, SaysHowManyWereInsideWhenItGivesUp) {
  queue.enqueue_block(with({1, 2}));
  const auto batch = queue.dequeue(3, false, std::chrono::milliseconds(5));
  queue.advance(std::chrono::milliseconds(5));
  EXPECT_THAT(batch->words(), HasSubstr("2 of 3 elements came within 5 ms"));
}

class PriorityQueueActor : public test::ActorTest {};

TEST_F(PriorityQueueActor, GivesThePriorityAsTheFirstComponent) {
  const Queue queue = spawn(priority_queue, holding(4));
  ask<caf::ok_atom>(queue, enqueue_atom_v, with({8, 7}), EnqueueOptions{});
  const auto batch = *ask<Batch>(queue, dequeue_atom_v, DequeueRequest{2})->value;
  EXPECT_EQ(batch.components[0], Tensor::of<std::int64_t>({2}, {7, 8}));
  EXPECT_EQ(batch.components[1], Tensor::of<std::int64_t>({2}, {2, 1}));
}

}  // namespace
}  // namespace troupe
