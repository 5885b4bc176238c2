#include "troupe/queues/bucket_queue.h"

#include <gmock/gmock.h>

#include "queues/queue_driver.h"
#include "support/actor_test.h"
#include "support/message_of.h"

namespace troupe {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// Numbers are as long as their value says. Buckets: below 10, from 10 on.
Buckets two_buckets(bool keep = true) {
  return {{10}, {3, 2}, [](const Element& e) { return e[0].read<std::int64_t>()[0]; }, keep};
}

test::QueueDriver buckets(bool keep = true, std::int64_t capacity = 20, std::int64_t floor = 0,
                          std::uint64_t capacity_bytes = 0) {
  QueueOptions options;
  options.name = "q";
  options.capacity = capacity;
  options.capacity_bytes = capacity_bytes;
  return test::QueueDriver(
      options,
      std::make_unique<BucketStore>(two_buckets(keep), floor,
                                    floor > 0 ? std::optional<std::uint64_t>(1) : std::nullopt));
}

TEST(BucketQueue, GivesElementsOfLikeLengthsTogether) {
  auto queue = buckets();
  queue.enqueue({1, 11, 2, 12, 3, 4, 13});
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(11, 12)) << "this bucket was full first";
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(1, 2, 3));
  EXPECT_TRUE(queue.dequeue(3)->pending());
}

TEST(BucketQueue, GivesABatchWhateverNumberIsAskedFor) {
  auto queue = buckets();
  const auto batch = queue.dequeue(1);
  queue.enqueue({1, 2});
  EXPECT_TRUE(batch->pending());
  queue.enqueue({3});
  EXPECT_THAT(*batch->value, ElementsAre(1, 2, 3));
}

TEST(BucketQueue, PutsABoundaryIntoTheUpperBucket) {
  auto queue = buckets();
  queue.enqueue({9, 10, 11});
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(10, 11));
}

TEST(BucketQueue, GivesTheRemainderOfEachBucketOnceItIsClosed) {
  auto queue = buckets();
  queue.enqueue({11, 1, 2, 3, 4});
  queue.close();
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(1, 2, 3));
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(4));
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(11));
  EXPECT_EQ(queue.dequeue(3)->code(), Code::out_of_range);
}

TEST(BucketQueue, DropsTheRemainderIfItIsToldTo) {
  auto queue = buckets(false);
  queue.enqueue({11, 1, 2, 3, 4});
  queue.close();
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(1, 2, 3));
  const auto end = queue.dequeue(3);
  EXPECT_EQ(end->code(), Code::out_of_range);
  EXPECT_THAT(end->words(), HasSubstr("end of data"));
}

TEST(BucketQueue, MakesEnqueuesWaitWhileItIsFull) {
  auto queue = buckets(true, 4);
  const auto block = queue.enqueue({1, 2, 3, 11, 12});
  EXPECT_TRUE(block->pending());
  EXPECT_EQ(queue.core.status().size, 4);
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(1, 2, 3));
  EXPECT_FALSE(block->pending());
}

TEST(BucketQueue, SaysThatItsBytesAreTooFewForAFullBucket) {
  auto queue = buckets(true, 20, 0, 3 * sizeof(std::int64_t));
  const auto block = queue.enqueue({1, 2, 11, 12});
  EXPECT_EQ(block->code(), Code::resource_exhausted);
  EXPECT_THAT(block->words(), HasSubstr("there will never be room"));
}

TEST(BucketQueue, KeepsAFloorToChooseFrom) {
  auto queue = buckets(true, 20, 5);
  const auto batch = queue.dequeue(1);
  queue.enqueue({1, 2, 3, 4, 5});
  EXPECT_TRUE(batch->pending());
  queue.enqueue({6});
  ASSERT_FALSE(batch->pending());
  EXPECT_EQ(batch->value->size(), 3u);
  EXPECT_NE(*batch->value, (std::vector<std::int64_t>{1, 2, 3})) << "a random three of six";
  queue.close();
  EXPECT_EQ(queue.dequeue(1)->value->size(), 3u);
}

TEST(BucketQueue, RefusesWhatMakesNoSense) {
  const auto check = [](const Buckets& b) { return message_of([&] { b.check(); }); };
  auto b = two_buckets();
  b.batch_sizes = {3};
  EXPECT_EQ(check(b), "1 boundaries make 2 buckets, but 1 batch sizes were given");
  b = two_buckets();
  b.boundaries = {10, 10};
  b.batch_sizes = {1, 1, 1};
  EXPECT_EQ(check(b), "the boundaries of buckets must ascend");
  b = two_buckets();
  b.batch_sizes = {3, 0};
  EXPECT_THAT(check(b), HasSubstr("a batch has 1 to"));
  b = two_buckets();
  b.length = nullptr;
  EXPECT_THAT(check(b), HasSubstr("a function for the length"));
}

class BucketQueueActor : public test::ActorTest {};

TEST_F(BucketQueueActor, PadsItsBatches) {
  BucketQueueOptions options;
  options.buckets = {{4}, {2, 2}, [](const Element& e) { return e[0].shape()[0]; }, true};
  options.components = {{"text", {DType::int64, {Shape::kUnknown}}}};
  options.padding = ElementPadding{{-1}, 1000};
  const Queue queue = spawn(bucket_queue, options);
  ElementBlock block;
  for (const std::int64_t length : {1, 5, 3})
    block.elements.push_back({Tensor::filled(DType::int64, {length}, 7)});
  ask<caf::ok_atom>(queue, enqueue_atom_v, block, EnqueueOptions{});
  const auto batch = ask<Batch>(queue, dequeue_atom_v, DequeueRequest{2});
  ASSERT_TRUE(batch->value) << batch->words();
  EXPECT_EQ(batch->value->components[0].shape(), Shape({2, 3}));
  EXPECT_THAT(test::numbers(*batch->value), ElementsAre(7, -1, -1, 7, 7, 7));
}

TEST_F(BucketQueueActor, AnswersALengthThatCannotBeTaken) {
  BucketQueueOptions options;
  options.buckets = {
      {4},
      {2, 2},
      [](const Element&) -> std::int64_t { fail(Code::invalid_argument, "it has no length"); },
      true};
  const Queue queue = spawn(bucket_queue, options);
  const auto answer =
      ask<caf::ok_atom>(queue, enqueue_atom_v, test::block_of({1}), EnqueueOptions{});
  EXPECT_EQ(answer->words(),
            "invalid argument: BucketQueue 'queue': element 0 of the block: it has no length");
}

TEST(PaddedBatches, FillUpEveryAxis) {
  const std::vector<Element> elements{{Tensor::of<float>({2, 1}, {1, 2})},
                                      {Tensor::of<float>({1, 3}, {3, 4, 5})},
                                      {Tensor(DType::float32, {0, 2})}};
  const auto batch = stack_padded(elements, {{9}, 1000});
  EXPECT_EQ(batch[0].shape(), Shape({3, 2, 3}));
  EXPECT_THAT(batch[0].read<float>(),
              ElementsAre(1, 9, 9, 2, 9, 9, 3, 4, 5, 9, 9, 9, 9, 9, 9, 9, 9, 9));
}

TEST(PaddedBatches, TakeAValueForEachComponentAndFillUpStringsWithEmptyOnes) {
  const std::vector<Element> elements{
      {Tensor::of<std::int32_t>({1}, {1}), Tensor::of<std::string>({2}, {"a", "b"}),
       Tensor::scalar<float>(1)},
      {Tensor::of<std::int32_t>({2}, {2, 3}), Tensor::of<std::string>({1}, {"c"}),
       Tensor::scalar<float>(2)}};
  const auto batch = stack_padded(elements, {{7, 0, 0}, 1000});
  EXPECT_THAT(batch[0].read<std::int32_t>(), ElementsAre(1, 7, 2, 3));
  EXPECT_THAT(batch[1].read<std::string>(), ElementsAre("a", "b", "c", ""));
  EXPECT_EQ(batch[2].shape(), Shape({2}));
}

TEST(PaddedBatches, HaveABoundThatTheyNameWhenItIsReached) {
  const std::vector<Element> elements{{Tensor(DType::uint8, {1})}, {Tensor(DType::uint8, {60})}};
  EXPECT_EQ(stack_padded(elements, {{0}, 120})[0].size(), 120);
  EXPECT_THAT(message_of([&] {
                stack_padded(elements, {{0}, 119});
              }),
              HasSubstr("a batch of 2 rows would have 120 bytes once padded, but 119 are allowed"));
}

TEST(PaddedBatches, NeedTheSameDtypesAndRanks) {
  EXPECT_THAT(
      message_of([] {
        stack_padded(
            std::vector<Element>{{Tensor(DType::uint8, {1})}, {Tensor(DType::uint8, {1, 1})}}, {});
      }),
      HasSubstr("uint8 [1, 1] and uint8 [1]; padding needs the same dtype"));
}

}  // namespace
}  // namespace troupe
