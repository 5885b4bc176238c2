#include "troupe/queues/queue_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "queues/queue_driver.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

QueueOptions holding(std::int64_t capacity) {
  QueueOptions options;
  options.name = "q";
  options.capacity = capacity;
  return options;
}

class QueueCoreTest : public ::testing::Test {
 protected:
  test::QueueDriver queue{holding(3)};
};

// ---- enqueue ---------------------------------------------------------------------------------

TEST_F(QueueCoreTest, AnswersAnEnqueueThatFits) {
  EXPECT_FALSE(queue.enqueue({1, 2, 3})->pending());
  EXPECT_EQ(queue.core.status().size, 3);
}

TEST_F(QueueCoreTest, AcceptsABlockLargerThanTheRoomPieceByPiece) {
  const auto block = queue.enqueue({1, 2, 3, 4, 5});
  EXPECT_TRUE(block->pending());
  EXPECT_EQ(queue.core.status().size, 3);
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(1));
  EXPECT_TRUE(block->pending());
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(2));
  EXPECT_FALSE(block->pending());
}

TEST_F(QueueCoreTest, LetsNoEnqueueOvertakeABlockThatIsHalfIn) {
  queue.enqueue({1, 2, 3, 4, 5});
  const auto late = queue.enqueue({6});
  EXPECT_THAT(*queue.dequeue(5)->value, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_FALSE(late->pending());
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(6));
}

TEST_F(QueueCoreTest, TakesAnAtomicBlockAllAtOnceOrNotYet) {
  queue.enqueue({1, 2});
  const auto block = queue.enqueue({3, 4}, {.atomic = true});
  EXPECT_EQ(queue.core.status().size, 2);
  queue.dequeue(1);
  EXPECT_FALSE(block->pending());
  EXPECT_EQ(queue.core.status().size, 3);
}

TEST_F(QueueCoreTest, RefusesAnAtomicBlockThatCanNeverFit) {
  const auto block = queue.enqueue({1, 2, 3, 4}, {.atomic = true});
  EXPECT_EQ(block->code(), Code::resource_exhausted);
  EXPECT_THAT(block->words(), HasSubstr("never be room for 4 elements at once"));
  EXPECT_EQ(queue.core.status().size, 0);
}

TEST_F(QueueCoreTest, AnswersAnEmptyBlockAtOnce) {
  queue.enqueue({1, 2, 3, 4});
  EXPECT_FALSE(queue.enqueue_block(ElementBlock{})->pending());
}

// ---- what an element must be -----------------------------------------------------------------

TEST_F(QueueCoreTest, TakesTheShapeOfElementsFromTheFirst) {
  queue.enqueue({1});
  const auto other =
      queue.enqueue_block(ElementBlock{0, {{Tensor::of<std::int64_t>({2}, {1, 2})}}}, {});
  EXPECT_EQ(other->code(), Code::invalid_argument);
  EXPECT_THAT(other->words(), HasSubstr("component 0 of element 0 of the block is int64 [2]"));
}

TEST(QueueCoreSpec, NamesTheComponentThatDoesNotFit) {
  auto options = holding(3);
  options.components = {{"image", {DType::float32, {2}}}, {"label", {DType::int64, {}}}};
  test::QueueDriver queue(options);
  const Element good{Tensor(DType::float32, {2}), Tensor::scalar<std::int64_t>(1)};
  const Element bad{Tensor(DType::float32, {2}), Tensor::scalar<float>(1)};
  const auto block = queue.enqueue_block(ElementBlock{0, {good, bad}});
  EXPECT_EQ(block->code(), Code::invalid_argument);
  EXPECT_THAT(block->words(),
              HasSubstr("component 1 'label' of element 1 of the block is float32 []"));
  EXPECT_EQ(queue.core.status().size, 0) << "nothing of a block that is refused goes in";
}

TEST(QueueCoreSpec, CountsComponents) {
  auto options = holding(3);
  options.components = {{"image", {DType::float32, {2}}}, {"label", {DType::int64, {}}}};
  test::QueueDriver queue(options);
  EXPECT_THAT(queue.enqueue({1})->words(),
              HasSubstr("element 0 of the block has 1 component, but needs 2: 'image' float32 [2], "
                        "'label' int64 []"));
}

TEST(QueueCoreSpec, RefusesAnElementWithoutComponents) {
  test::QueueDriver queue(holding(3));
  EXPECT_THAT(queue.enqueue_block(ElementBlock{0, {{}}})->words(),
              HasSubstr("has 0 components, but needs at least 1"));
}

TEST(QueueCoreSpec, LeavesARowForTheBatch) {
  test::QueueDriver queue(holding(3));
  const Tensor full(DType::int64, {1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(queue.enqueue_block(ElementBlock{0, {{full}}})->words(), HasSubstr("has 8 axes"));
}

TEST(QueueCoreSpec, LearnsNothingFromABlockThatItRefuses) {
  test::QueueDriver queue(holding(3));
  const Tensor pair = Tensor::of<std::int64_t>({2}, {1, 2});
  EXPECT_EQ(queue.enqueue_block(ElementBlock{0, {{pair}, test::number(1)}})->code(),
            Code::invalid_argument);
  EXPECT_EQ(queue.enqueue({1})->code(), Code::ok);
}

TEST(QueueCoreSpec, RemembersABlockOfBadRecordsAlsoAfterTheClose) {
  auto options = holding(3);
  options.readers = 1;
  test::QueueDriver queue(options);
  queue.close(true, {Code::cancelled, "it stops"});
  EXPECT_EQ(queue.enqueue_block({0, {}, 0, 2})->code(), Code::ok);
  EXPECT_EQ(queue.enqueue_block({1, {}, kNoReader, 1})->code(), Code::ok) << "cut off by a failure";
  const auto receipts = queue.core.snapshot().receipts.at(0);
  EXPECT_TRUE(receipts.has(0));
  EXPECT_EQ(receipts.left_out, 2u);
}

TEST(QueueCoreSpec, GivesElementsOfOpenShapeOneAtATimeOnly) {
  auto options = holding(3);
  options.components = {{"text", {DType::int64, {Shape::kUnknown}}}};
  test::QueueDriver queue(options);
  queue.enqueue_block(ElementBlock{0, {{Tensor::of<std::int64_t>({2}, {7, 8})}}});
  EXPECT_EQ(queue.dequeue(2)->code(), Code::invalid_argument);
  EXPECT_THAT(queue.dequeue(2, true)->words(),
              HasSubstr("requires the components to have specified shapes, but component 0 'text' "
                        "is int64 [?]"));
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(7, 8));
}

TEST(QueueCoreSpec, RefusesACapacityBelowOne) {
  EXPECT_THROW(test::QueueDriver{holding(0)}, Error);
  test::QueueDriver unbounded(holding(QueueOptions::kUnbounded));
  EXPECT_FALSE(unbounded.enqueue(std::vector<std::int64_t>(10000))->pending());
}

// ---- dequeue ---------------------------------------------------------------------------------

TEST_F(QueueCoreTest, ParksADequeueUntilThereAreEnough) {
  const auto batch = queue.dequeue(2);
  queue.enqueue({1});
  EXPECT_TRUE(batch->pending());
  queue.enqueue({2});
  EXPECT_THAT(*batch->value, ElementsAre(1, 2));
}

TEST_F(QueueCoreTest, GathersMoreThanTheCapacity) {
  const auto batch = queue.dequeue(5);
  const auto block = queue.enqueue({1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(block->pending());
  EXPECT_THAT(*batch->value, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(QueueCoreTest, ServesTheFirstDequeueFirst) {
  const auto many = queue.dequeue(3);
  const auto one = queue.dequeue(1);
  queue.enqueue({1});
  EXPECT_TRUE(one->pending()) << "the first in the list takes what comes, however much it needs";
  queue.enqueue({2, 3, 4});
  EXPECT_THAT(*many->value, ElementsAre(1, 2, 3));
  EXPECT_THAT(*one->value, ElementsAre(4));
}

TEST_F(QueueCoreTest, GivesAnEmptyBatchForZeroElements) {
  queue.enqueue({1});
  EXPECT_THAT(*queue.dequeue(0)->value, ElementsAre());
  EXPECT_EQ(queue.core.status().size, 1);
}

TEST_F(QueueCoreTest, RefusesANegativeCount) {
  EXPECT_EQ(queue.dequeue(-1)->code(), Code::invalid_argument);
}

TEST_F(QueueCoreTest, UpToWaitsForAllWhileTheQueueIsOpen) {
  queue.enqueue({1});
  EXPECT_TRUE(queue.dequeue(2, true)->pending());
}

TEST_F(QueueCoreTest, ReleasesTheMemoryOfElementsThatLeave) {
  const auto tensor = Tensor::scalar<std::int64_t>(1);
  queue.enqueue_block(ElementBlock{0, {{tensor}}});
  EXPECT_FALSE(tensor.unique());
  queue.dequeue(1);
  EXPECT_TRUE(tensor.unique());
}

TEST_F(QueueCoreTest, NumbersItsBatches) {
  queue.enqueue({1, 2});
  std::vector<std::uint64_t> sequence;
  for (int i = 0; i < 2; ++i)
    queue.core.dequeue({}, {}, [&](auto taken) { sequence.push_back(taken->sequence); });
  EXPECT_THAT(sequence, ElementsAre(0, 1));
}

// ---- close -----------------------------------------------------------------------------------

TEST_F(QueueCoreTest, DrainsAfterTheCloseAndThenSaysWhy) {
  queue.enqueue({1, 2});
  queue.close();
  EXPECT_THAT(*queue.dequeue(2)->value, ElementsAre(1, 2));
  const auto after = queue.dequeue(1);
  EXPECT_EQ(after->code(), Code::out_of_range);
  EXPECT_EQ(after->words(),
            "FIFOQueue 'q' is closed and has insufficient elements "
            "(requested 1, current size 0): end of data");
}

TEST_F(QueueCoreTest, RefusesToEnqueueAfterTheClose) {
  queue.close();
  const auto late = queue.enqueue({1});
  EXPECT_EQ(late->code(), Code::cancelled);
  EXPECT_EQ(late->words(), "FIFOQueue 'q' is closed: end of data");
}

TEST_F(QueueCoreTest, ClosesBehindTheEnqueuesThatWait) {
  queue.enqueue({1, 2, 3, 4});
  const auto close = queue.close();
  EXPECT_TRUE(close->pending());
  EXPECT_FALSE(queue.core.status().closed);
  queue.dequeue(1);
  EXPECT_FALSE(close->pending());
  EXPECT_TRUE(queue.core.status().closed);
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(2, 3, 4));
}

TEST_F(QueueCoreTest, CancelsTheEnqueuesThatWaitWhenAskedTo) {
  const auto block = queue.enqueue({1, 2, 3, 4});
  EXPECT_FALSE(queue.close(true)->pending());
  EXPECT_EQ(block->code(), Code::cancelled);
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(1, 2, 3)) << "what is in stays in";
}

TEST_F(QueueCoreTest, WakesDequeuesThatCanNeverBeServed) {
  const auto first = queue.dequeue(2);
  const auto second = queue.dequeue(1);
  queue.close();
  EXPECT_EQ(first->code(), Code::out_of_range);
  EXPECT_EQ(second->code(), Code::out_of_range);
}

TEST_F(QueueCoreTest, PutsBackWhatADequeueTookInVain) {
  const auto many = queue.dequeue(4);
  const auto few = queue.dequeue(2);
  queue.enqueue({1, 2, 3});
  queue.close();
  EXPECT_EQ(many->words(),
            "FIFOQueue 'q' is closed and has insufficient elements "
            "(requested 4, current size 3): end of data");
  EXPECT_THAT(*few->value, ElementsAre(1, 2)) << "in their order, to the next in the list";
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(3));
}

TEST_F(QueueCoreTest, UpToGivesTheRestAfterTheClose) {
  queue.enqueue({1, 2});
  const auto rest = queue.dequeue(5, true);
  EXPECT_TRUE(rest->pending());
  queue.close();
  EXPECT_THAT(*rest->value, ElementsAre(1, 2));
  EXPECT_EQ(queue.dequeue(5, true)->code(), Code::out_of_range);
}

TEST_F(QueueCoreTest, TellsTheRootCauseFirst) {
  queue.enqueue({1});
  queue.close(false, {Code::data_loss, "train.idx: byte 17 is missing"});
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(1)) << "accepted elements are not lost";
  const auto after = queue.dequeue(1);
  EXPECT_EQ(after->code(), Code::data_loss);
  EXPECT_THAT(after->words(), StartsWith("train.idx: byte 17 is missing; therefore FIFOQueue 'q'"));
}

TEST_F(QueueCoreTest, MayBeClosedTwiceAndPrefersTheFailure) {
  queue.close();
  EXPECT_EQ(queue.close(false, {Code::internal, "first failure"})->code(), Code::ok);
  queue.close(true, {Code::internal, "second failure"});
  EXPECT_EQ(queue.core.status().reason.message, "first failure");
}

// ---- time ------------------------------------------------------------------------------------

TEST_F(QueueCoreTest, GivesUpADequeueInTimeAndKeepsItsElements) {
  queue.enqueue({1});
  const auto batch = queue.dequeue(2, false, milliseconds(50));
  EXPECT_EQ(queue.core.next_deadline(), queue.now + milliseconds(50));
  queue.advance(milliseconds(49));
  EXPECT_TRUE(batch->pending());
  queue.advance(milliseconds(1));
  EXPECT_EQ(batch->code(), Code::deadline_exceeded);
  EXPECT_THAT(batch->words(), HasSubstr("1 of 2 elements came within 50 ms; no producer"));
  EXPECT_FALSE(queue.core.next_deadline());
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(1));
}

TEST_F(QueueCoreTest, GivesUpAnEnqueueInTimeAndKeepsWhatIsIn) {
  const auto block = queue.enqueue({1, 2, 3, 4}, {.timeout = milliseconds(5)});
  const auto next = queue.enqueue({5});
  queue.advance(milliseconds(5));
  EXPECT_EQ(block->code(), Code::deadline_exceeded);
  EXPECT_THAT(block->words(), HasSubstr("3 of 4 elements went in"));
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(1, 2, 3));
  EXPECT_FALSE(next->pending());
}

TEST_F(QueueCoreTest, LetsTheNextInTheListGoWhenTheFirstGivesUp) {
  const auto many = queue.dequeue(3, false, milliseconds(5));
  const auto one = queue.dequeue(1);
  queue.enqueue({1, 2});
  queue.advance(milliseconds(5));
  EXPECT_THAT(*one->value, ElementsAre(1));
}

TEST_F(QueueCoreTest, MeasuresHowLongItWasFullAndEmpty) {
  queue.dequeue(1);
  queue.advance(milliseconds(30));
  queue.enqueue({1, 2, 3, 4, 5});
  queue.advance(milliseconds(7));
  queue.dequeue(1);
  queue.advance(milliseconds(100));
  EXPECT_EQ(queue.core.status().blocked_on_empty, milliseconds(30));
  EXPECT_EQ(queue.core.status().blocked_on_full, milliseconds(7));
}

TEST_F(QueueCoreTest, ClosesInTimeAndSaysWhoWasStillWaiting) {
  queue.enqueue({1, 2, 3, 4, 5});
  const auto patient = queue.close();
  const auto close = queue.close(false, {}, milliseconds(50));
  const auto late = queue.enqueue({6});
  EXPECT_EQ(queue.core.next_deadline(), queue.now + milliseconds(50));
  queue.advance(milliseconds(50));
  EXPECT_EQ(close->code(), Code::deadline_exceeded);
  EXPECT_THAT(close->words(), HasSubstr("FIFOQueue 'q' has been closed, but after 50 ms there was "
                                        "no room yet for 2 elements of 1 enqueues"));
  EXPECT_EQ(patient->code(), Code::ok) << "closed it is";
  EXPECT_EQ(late->code(), Code::cancelled);
  EXPECT_TRUE(queue.core.status().closed);
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(1, 2, 3));
}

TEST_F(QueueCoreTest, ClosesWithoutAWordWhenNobodyIsLeftWaitingInTime) {
  const auto block = queue.enqueue({1, 2, 3, 4}, {.timeout = milliseconds(50)});
  const auto close = queue.close(false, {}, milliseconds(50));
  queue.advance(milliseconds(50));
  EXPECT_EQ(block->code(), Code::deadline_exceeded);
  EXPECT_EQ(close->code(), Code::ok);
}

// ---- bytes -----------------------------------------------------------------------------------

class QueueBytes : public ::testing::Test {
 protected:
  static QueueOptions bytes(std::uint64_t count) {
    auto options = holding(100);
    options.capacity_bytes = count;
    return options;
  }
};

TEST_F(QueueBytes, BoundWhatIsInside) {
  test::QueueDriver queue(bytes(20));
  const auto block = queue.enqueue({1, 2, 3});
  EXPECT_TRUE(block->pending());
  EXPECT_EQ(queue.core.status().bytes, 16u);
  queue.dequeue(1);
  EXPECT_FALSE(block->pending());
}

TEST_F(QueueBytes, RefuseAnElementThatIsLargerThanTheQueue) {
  test::QueueDriver queue(bytes(7));
  EXPECT_EQ(queue.enqueue({1})->code(), Code::resource_exhausted);
}

TEST_F(QueueBytes, ReportABoundThatTheFloorMakesImpossible) {
  RandomShuffleQueueOptions floor;
  floor.min_after_dequeue = 5;
  test::QueueDriver queue(bytes(16), random_shuffle_kind(floor));
  const auto block = queue.enqueue({1, 2, 3});
  EXPECT_EQ(block->code(), Code::resource_exhausted) << "two fit, but none may leave before five";
  EXPECT_THAT(block->words(), HasSubstr("keeps the last 5 (min_after_dequeue)"));
}

}  // namespace
}  // namespace troupe
