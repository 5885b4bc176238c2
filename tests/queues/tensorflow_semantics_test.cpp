// What users of TensorFlow 1.15's queues may rely on, sentence by sentence, and where
// Troupe differs on purpose: those tests end in UnlikeTensorFlow.
//
// Sources: core/kernels/queue_base.cc, typed_queue.h, fifo_queue.cc,
// random_shuffle_queue_op.cc, padding_fifo_queue.cc, priority_queue.cc, queue_op.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "queues/queue_driver.h"
#include "troupe/queues/padding_fifo_queue.h"
#include "troupe/queues/priority_queue.h"

namespace troupe {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

QueueOptions holding(std::int64_t capacity) {
  QueueOptions options;
  options.name = "q";
  options.capacity = capacity;
  return options;
}

test::QueueDriver shuffle(std::int64_t capacity, std::int64_t min_after_dequeue) {
  RandomShuffleQueueOptions options;
  options.name = "q";
  options.capacity = capacity;
  options.min_after_dequeue = min_after_dequeue;
  return test::QueueDriver(options, random_shuffle_kind(options));
}

/// {priority, value}
Element ranked(std::int64_t priority, std::int64_t value) {
  return {Tensor::scalar<std::int64_t>(priority), Tensor::scalar<std::int64_t>(value)};
}

std::int64_t size_of(const test::QueueDriver& queue) { return queue.core.status().size; }

// ---- the machine -----------------------------------------------------------------------------

TEST(TfQueue, TriesOnlyTheFirstOfTheEnqueuesThatWait) {
  test::QueueDriver queue(holding(3));
  queue.enqueue({1, 2});
  const auto large = queue.enqueue({3, 4, 5}, {.atomic = true});
  const auto small = queue.enqueue({6});
  EXPECT_TRUE(large->pending());
  EXPECT_TRUE(small->pending()) << "there is room for it, but it is not its turn";
}

TEST(TfQueue, TriesOnlyTheFirstOfTheDequeuesThatWait) {
  test::QueueDriver queue(holding(3));
  const auto three = queue.dequeue(3);
  const auto one = queue.dequeue(1);
  queue.enqueue({1, 2});
  EXPECT_TRUE(three->pending());
  EXPECT_TRUE(one->pending());
}

TEST(TfQueue, GoesOnUntilNothingMoves) {
  test::QueueDriver queue(holding(1));
  const auto block = queue.enqueue({1, 2, 3, 4, 5});
  EXPECT_THAT(*queue.dequeue(5)->value, ElementsAre(1, 2, 3, 4, 5))
      << "every element that leaves lets another one in";
  EXPECT_FALSE(block->pending());
}

TEST(TfQueue, AnswersSizeAndIsClosedAtOnce) {
  test::QueueDriver queue(holding(3));
  queue.dequeue(5);
  queue.enqueue({1});
  EXPECT_EQ(size_of(queue), 0) << "taken by the dequeue that waits";
  EXPECT_FALSE(queue.core.status().closed);
}

// TensorFlow multiplies the size of the first element.
TEST(TfQueue, KnowsTheBytesInsideUnlikeTensorFlow) {
  auto options = holding(9);
  options.components = {{"", {DType::int64, {Shape::kUnknown}}}};
  test::QueueDriver queue(options, padding_fifo_kind());
  queue.enqueue_block(ElementBlock{0, {{Tensor(DType::int64, {1})}, {Tensor(DType::int64, {9})}}});
  EXPECT_EQ(queue.core.status().bytes, 80u);
}

// TensorFlow: "Timeout not supported yet."
TEST(TfQueue, KeepsDeadlinesOnEveryCallUnlikeTensorFlow) {
  test::QueueDriver queue(holding(1));
  queue.enqueue({1});
  const auto enqueue = queue.enqueue({2}, {.timeout = milliseconds(5)});
  const auto close = queue.close(false, {}, milliseconds(5));
  queue.advance(milliseconds(5));
  EXPECT_EQ(enqueue->code(), Code::deadline_exceeded);
  EXPECT_EQ(close->code(), Code::ok) << "nothing was in its way any more";
  test::QueueDriver empty(holding(1));
  const auto dequeue = empty.dequeue(1, false, milliseconds(5));
  empty.advance(milliseconds(5));
  EXPECT_EQ(dequeue->code(), Code::deadline_exceeded);
}

// ---- elements --------------------------------------------------------------------------------

class TfElements : public ::testing::Test {
 protected:
  TfElements() : queue(options()) {}
  static QueueOptions options() {
    auto options = holding(3);
    options.components = {{"image", {DType::float32, {2}}}, {"", {DType::int64, {}}}};
    return options;
  }
  std::string refusal(Element element) {
    const auto outcome = queue.enqueue_block(ElementBlock{0, {std::move(element)}});
    EXPECT_EQ(outcome->code(), Code::invalid_argument);
    return outcome->words();
  }
  test::QueueDriver queue;
};

// "Wrong number of components in tuple. Expected 2, got 1"
TEST_F(TfElements, HaveTheRightNumberOfComponents) {
  EXPECT_EQ(refusal({Tensor(DType::float32, {2})}),
            "FIFOQueue 'q': element 0 of the block has 1 component, but needs 2: 'image' float32 "
            "[2], int64 []");
}

// "Type mismatch in tuple component 1. Expected int64, got float"
TEST_F(TfElements, HaveTheRightTypes) {
  EXPECT_EQ(refusal({Tensor(DType::float32, {2}), Tensor(DType::float32, {})}),
            "FIFOQueue 'q': component 1 of element 0 of the block is float32 [], but must be int64 "
            "[]");
}

// "Shape mismatch in tuple component 0. Expected [2], got [3]"
TEST_F(TfElements, HaveTheRightShapes) {
  EXPECT_EQ(refusal({Tensor(DType::float32, {3}), Tensor(DType::int64, {})}),
            "FIFOQueue 'q': component 0 'image' of element 0 of the block is float32 [3], but must "
            "be float32 [2]");
}

// ---- enqueue ---------------------------------------------------------------------------------

TEST(TfEnqueue, WaitsWhileTheQueueIsFull) {
  test::QueueDriver queue(holding(1));
  EXPECT_FALSE(queue.enqueue({1})->pending());
  const auto second = queue.enqueue({2});
  EXPECT_TRUE(second->pending());
  queue.dequeue(1);
  EXPECT_FALSE(second->pending());
}

TEST(TfEnqueue, NeverWaitsForAnUnboundedQueue) {
  test::QueueDriver queue(holding(QueueOptions::kUnbounded));
  EXPECT_FALSE(queue.enqueue(std::vector<std::int64_t>(5000))->pending());
}

// "FIFOQueue 'q' is closed."
TEST(TfEnqueue, IsCancelledByAClosedQueue) {
  test::QueueDriver queue(holding(1));
  queue.close();
  const auto late = queue.enqueue({1});
  EXPECT_EQ(late->code(), Code::cancelled);
  EXPECT_THAT(late->words(), StartsWith("FIFOQueue 'q' is closed"));
}

// TensorFlow lets it wait for its turn behind the close, and refuses it then.
TEST(TfEnqueue, IsCancelledAtOnceBehindACloseThatWaitsUnlikeTensorFlow) {
  test::QueueDriver queue(holding(1));
  queue.enqueue({1, 2});
  EXPECT_TRUE(queue.close()->pending());
  EXPECT_EQ(queue.enqueue({3})->code(), Code::cancelled);
}

TEST(TfEnqueueMany, IsDoneAtOnceWithoutElementsWithoutALookAtClosed) {
  test::QueueDriver queue(holding(1));
  queue.close();
  EXPECT_EQ(queue.enqueue_block(ElementBlock{})->code(), Code::ok);
}

TEST(TfEnqueueMany, GoesInElementByElement) {
  test::QueueDriver queue(holding(2));
  const auto block = queue.enqueue({1, 2, 3});
  EXPECT_EQ(size_of(queue), 2);
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(1)) << "a dequeue comes in between";
  EXPECT_FALSE(block->pending());
}

TEST(TfEnqueueMany, LetsNoOtherEnqueueIn) {
  test::QueueDriver queue(holding(2));
  queue.enqueue({1, 2, 3});
  queue.enqueue({4});
  EXPECT_THAT(*queue.dequeue(4)->value, ElementsAre(1, 2, 3, 4));
}

TEST(TfEnqueueMany, LeavesInsideWhatIsInWhenItIsCancelled) {
  test::QueueDriver queue(holding(2));
  const auto block = queue.enqueue({1, 2, 3});
  queue.close(true);
  EXPECT_EQ(block->code(), Code::cancelled);
  EXPECT_THAT(*queue.dequeue(2)->value, ElementsAre(1, 2));
}

TEST(TfEnqueueMany, MayBeAtomicUnlikeTensorFlow) {
  test::QueueDriver queue(holding(3));
  queue.enqueue({1, 2});
  const auto block = queue.enqueue({3, 4}, {.atomic = true});
  EXPECT_EQ(size_of(queue), 2);
  queue.close(true);
  EXPECT_EQ(block->code(), Code::cancelled);
  EXPECT_EQ(size_of(queue), 2) << "nothing of it went in";
}

// ---- close -----------------------------------------------------------------------------------

TEST(TfClose, WaitsForTheEnqueuesThatCameBefore) {
  test::QueueDriver queue(holding(1));
  const auto block = queue.enqueue({1, 2});
  const auto close = queue.close();
  EXPECT_TRUE(close->pending()) << "as long as nobody dequeues";
  EXPECT_FALSE(queue.core.status().closed);
  queue.dequeue(1);
  EXPECT_EQ(block->code(), Code::ok);
  EXPECT_EQ(close->code(), Code::ok);
  EXPECT_TRUE(queue.core.status().closed);
}

// TensorFlow: Cancelled, "Queue 'q' is already closed." Here several actors may know that
// the data have ended.
TEST(TfClose, MayComeTwiceUnlikeTensorFlow) {
  test::QueueDriver queue(holding(1));
  queue.close();
  EXPECT_EQ(queue.close()->code(), Code::ok);
}

TEST(TfClose, CancelsTheEnqueuesThatWaitWhenToldTo) {
  test::QueueDriver queue(holding(1));
  const auto block = queue.enqueue({1, 2});
  EXPECT_EQ(queue.close(true)->code(), Code::ok);
  EXPECT_EQ(block->code(), Code::cancelled);
  EXPECT_EQ(queue.close(true)->code(), Code::ok) << "again is fine";
}

TEST(TfClose, MayCancelAfterACloseThatWaits) {
  test::QueueDriver queue(holding(1));
  const auto block = queue.enqueue({1, 2});
  const auto patient = queue.close();
  queue.close(true);
  EXPECT_EQ(block->code(), Code::cancelled);
  EXPECT_EQ(patient->code(), Code::ok);
}

TEST(TfClose, NeitherKindCancelsDequeuesThatCanBeServed) {
  test::QueueDriver queue(holding(1));
  const auto two = queue.dequeue(2);
  queue.enqueue({1, 2, 3});
  EXPECT_THAT(*two->value, ElementsAre(1, 2));
  const auto last = queue.dequeue(2, true);
  queue.close(true);
  EXPECT_THAT(*last->value, ElementsAre(3));
}

TEST(TfClose, IsBoundedInTimeUnlikeTensorFlow) {
  test::QueueDriver queue(holding(1));
  queue.enqueue({1, 2});
  const auto close = queue.close(false, {}, milliseconds(5));
  queue.advance(milliseconds(5));
  EXPECT_EQ(close->code(), Code::deadline_exceeded);
  EXPECT_THAT(close->words(), HasSubstr("no room yet for 1 elements of 1 enqueues"));
  EXPECT_TRUE(queue.core.status().closed);
}

// ---- dequeue ---------------------------------------------------------------------------------

TEST(TfDequeue, IsOutOfRangeOnceTheQueueIsClosedAndEmpty) {
  test::QueueDriver queue(holding(1));
  queue.close();
  const auto late = queue.dequeue(1);
  EXPECT_EQ(late->code(), Code::out_of_range);
  EXPECT_THAT(late->words(), StartsWith("FIFOQueue 'q' is closed and has insufficient elements "
                                        "(requested 1, current size 0)"));
}

TEST(TfDequeue, TellsTheReasonOfTheCloseUnlikeTensorFlow) {
  test::QueueDriver queue(holding(1));
  queue.close(false, {Code::not_found, "no such file: a.txt"});
  const auto late = queue.dequeue(1);
  EXPECT_EQ(late->code(), Code::not_found);
  EXPECT_THAT(late->words(), StartsWith("no such file: a.txt; therefore FIFOQueue 'q' is closed"));
}

// "DequeueManyOp requested -1 < 0 elements"
TEST(TfDequeueMany, RefusesANegativeNumber) {
  test::QueueDriver queue(holding(1));
  EXPECT_EQ(queue.dequeue(-1)->code(), Code::invalid_argument);
  EXPECT_THAT(queue.dequeue(-1)->words(), HasSubstr("asked for -1 elements"));
}

// "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes."
TEST(TfDequeueMany, RequiresSpecifiedShapes) {
  auto open = holding(3);
  open.components = {{"", {DType::int64, {Shape::kUnknown}}}};
  test::QueueDriver queue(open);
  EXPECT_EQ(queue.dequeue(2)->code(), Code::invalid_argument);
  EXPECT_THAT(queue.dequeue(2, true)->words(),
              HasSubstr("requires the components to have specified shapes"));
  queue.enqueue_block(ElementBlock{0, {{Tensor::of<std::int64_t>({1}, {7})}}});
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(7));
}

TEST(TfDequeueMany, GivesAnEmptyBatchForZeroElements) {
  test::QueueDriver queue(holding(1));
  EXPECT_THAT(*queue.dequeue(0)->value, IsEmpty());
  queue.close();
  EXPECT_THAT(*queue.dequeue(0)->value, IsEmpty());
}

TEST(TfDequeueMany, TakesElementsAsTheyCome) {
  test::QueueDriver queue(holding(2));
  const auto batch = queue.dequeue(5);
  queue.enqueue({1, 2, 3});
  EXPECT_EQ(size_of(queue), 0) << "a dequeue that waits drains the queue";
  queue.enqueue({4, 5});
  EXPECT_THAT(*batch->value, ElementsAre(1, 2, 3, 4, 5)) << "more than the capacity";
}

TEST(TfDequeueMany, PutsBackInFrontAndInOrderWhatItTookInVain) {
  test::QueueDriver queue(holding(5));
  const auto batch = queue.dequeue(4);
  queue.enqueue({1, 2, 3});
  queue.close();
  EXPECT_EQ(batch->code(), Code::out_of_range);
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(1, 2, 3));
}

// TensorFlow says how many were still missing, and the size before putting back.
TEST(TfDequeueMany, SaysWhatWasRequestedAndWhatIsThereUnlikeTensorFlow) {
  test::QueueDriver queue(holding(5));
  const auto batch = queue.dequeue(4);
  queue.enqueue({1, 2, 3});
  queue.close();
  EXPECT_THAT(batch->words(), HasSubstr("(requested 4, current size 3)"));
}

TEST(TfDequeueUpTo, WaitsForAllWhileTheQueueIsOpen) {
  test::QueueDriver queue(holding(5));
  const auto batch = queue.dequeue(3, true);
  queue.enqueue({1, 2});
  EXPECT_TRUE(batch->pending());
  queue.enqueue({3});
  EXPECT_THAT(*batch->value, ElementsAre(1, 2, 3));
}

TEST(TfDequeueUpTo, GetsOneOrMoreOfWhatIsLeft) {
  test::QueueDriver queue(holding(5));
  queue.enqueue({1, 2});
  queue.close();
  EXPECT_THAT(*queue.dequeue(3, true)->value, ElementsAre(1, 2));
  EXPECT_EQ(queue.dequeue(3, true)->code(), Code::out_of_range);
}

TEST(TfDequeueUpTo, WaitsForTheEnqueuesThatAreStillListed) {
  test::QueueDriver queue(holding(1));
  queue.enqueue({1, 2, 3});
  queue.close();
  EXPECT_THAT(*queue.dequeue(2, true)->value, ElementsAre(1, 2));
  EXPECT_THAT(*queue.dequeue(2, true)->value, ElementsAre(3));
}

// ---- RandomShuffleQueue ----------------------------------------------------------------------

// "min_after_dequeue 4 must be < capacity 4"
TEST(TfRandomShuffleQueue, RequiresAFloorBelowItsCapacity) {
  EXPECT_THROW(shuffle(4, 4), Error);
  EXPECT_THROW(shuffle(4, -1), Error);
  EXPECT_NO_THROW(shuffle(QueueOptions::kUnbounded, 1000));
}

TEST(TfRandomShuffleQueue, GivesAnElementOnlyAboveTheFloor) {
  auto queue = shuffle(10, 3);
  queue.enqueue({1, 2, 3});
  const auto one = queue.dequeue(1);
  EXPECT_TRUE(one->pending());
  queue.enqueue({4});
  EXPECT_FALSE(one->pending());
}

TEST(TfRandomShuffleQueue, TestsTheFloorForEachElementOfABatch) {
  auto queue = shuffle(10, 3);
  const auto batch = queue.dequeue(2);
  queue.enqueue({1, 2, 3, 4});
  EXPECT_TRUE(batch->pending());
  EXPECT_EQ(size_of(queue), 3) << "one is taken";
}

TEST(TfRandomShuffleQueue, DrainsToNothingAfterTheClose) {
  auto queue = shuffle(10, 3);
  queue.enqueue({1, 2});
  queue.close();
  EXPECT_THAT(*queue.dequeue(2)->value, UnorderedElementsAre(1, 2));
}

TEST(TfRandomShuffleQueue, PutsBackWhatADequeueTookInVain) {
  auto queue = shuffle(10, 0);
  const auto batch = queue.dequeue(3);
  queue.enqueue({1, 2});
  queue.close();
  EXPECT_EQ(batch->code(), Code::out_of_range);
  EXPECT_THAT(*queue.dequeue(2)->value, UnorderedElementsAre(1, 2));
}

// A batch above capacity - floor is no contradiction: elements leave while others come.
TEST(TfRandomShuffleQueue, ServesABatchLargerThanTheRoomAboveItsFloor) {
  auto queue = shuffle(4, 3);
  const auto batch = queue.dequeue(5);
  queue.enqueue({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(batch->value->size(), 5u);
}

// The floor can only starve a request by the bound in bytes, or by an atomic block.
TEST(TfRandomShuffleQueue, RefusesWhatTheFloorMakesImpossibleUnlikeTensorFlow) {
  auto queue = shuffle(4, 2);
  queue.enqueue({1, 2});
  EXPECT_EQ(queue.enqueue({3, 4, 5}, {.atomic = true})->code(), Code::resource_exhausted);
}

// ---- PaddingFIFOQueue ------------------------------------------------------------------------

class TfPaddingFifoQueue : public ::testing::Test {
 protected:
  TfPaddingFifoQueue() : queue(options(), padding_fifo_kind()) {}
  static QueueOptions options() {
    auto options = holding(9);
    options.components = {{"", {DType::int64, {Shape::kUnknown}}}};
    options.padding.emplace();
    return options;
  }
  void enqueue(const std::vector<std::int64_t>& values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    queue.enqueue_block(ElementBlock{0, {{Tensor::of<std::int64_t>(shape, values)}}});
  }
  test::QueueDriver queue;
};

TEST_F(TfPaddingFifoQueue, GivesASingleElementUnpadded) {
  enqueue({1});
  enqueue({2, 3});
  EXPECT_THAT(*queue.dequeue(1)->value, ElementsAre(1));
}

TEST_F(TfPaddingFifoQueue, PadsABatchWithZerosToItsOwnMaximum) {
  enqueue({1});
  enqueue({2, 3});
  enqueue({4, 5, 6});
  EXPECT_THAT(*queue.dequeue(2)->value, ElementsAre(1, 0, 2, 3));
}

TEST_F(TfPaddingFifoQueue, PadsUpToTheRestToo) {
  enqueue({1});
  enqueue({2, 3});
  queue.close();
  EXPECT_THAT(*queue.dequeue(9, true)->value, ElementsAre(1, 0, 2, 3));
}

// ---- PriorityQueue ---------------------------------------------------------------------------

TEST(TfPriorityQueue, GivesTheSmallestPriorityFirst) {
  test::QueueDriver queue(holding(4), priority_kind({}));
  queue.enqueue_block(ElementBlock{0, {ranked(3, 30), ranked(-1, 10), ranked(2, 20)}});
  EXPECT_THAT(*queue.dequeue(3)->value, ElementsAre(10, 20, 30));
}

// TensorFlow: in no particular order.
TEST(TfPriorityQueue, KeepsTheOrderOfEqualPrioritiesUnlikeTensorFlow) {
  test::QueueDriver queue(holding(8), priority_kind({}));
  for (std::int64_t i = 0; i < 8; ++i) queue.enqueue_block(ElementBlock{0, {ranked(0, i)}});
  EXPECT_THAT(*queue.dequeue(8)->value, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(TfPriorityQueue, DoesNotTakeElementsAsTheyCome) {
  test::QueueDriver queue(holding(4), priority_kind({}));
  const auto batch = queue.dequeue(2);
  queue.enqueue_block(ElementBlock{0, {ranked(5, 50)}});
  EXPECT_EQ(size_of(queue), 1);
  queue.enqueue_block(ElementBlock{0, {ranked(1, 10)}});
  EXPECT_THAT(*batch->value, ElementsAre(10, 50));
}

// TensorFlow waits for ever.
TEST(TfPriorityQueue, RefusesAtOnceMoreThanItsCapacityUnlikeTensorFlow) {
  test::QueueDriver queue(holding(4), priority_kind({}));
  EXPECT_EQ(queue.dequeue(5)->code(), Code::invalid_argument);
}

TEST(TfPriorityQueue, NeedsAllAfterTheCloseAndUpToGetsTheRest) {
  test::QueueDriver queue(holding(4), priority_kind({}));
  queue.enqueue_block(ElementBlock{0, {ranked(1, 10)}});
  queue.close();
  EXPECT_EQ(queue.dequeue(2)->code(), Code::out_of_range);
  EXPECT_THAT(*queue.dequeue(2, true)->value, ElementsAre(10));
  EXPECT_EQ(queue.dequeue(2, true)->code(), Code::out_of_range);
}

// "Expected the priority element to be a scalar, but received shape: [2]"
TEST(TfPriorityQueue, RefusesAPriorityThatIsNoScalar) {
  test::QueueDriver queue(holding(4), priority_kind({}));
  const auto block =
      queue.enqueue_block(ElementBlock{0, {{Tensor(DType::int64, {2}), Tensor(DType::int64, {})}}});
  EXPECT_EQ(block->code(), Code::invalid_argument);
  EXPECT_THAT(block->words(), HasSubstr("to be a scalar, but received shape [2]"));
}

// Sharing by name: shared_queues_test.cpp. What dies or waits with an actor: queue_actor_test.cpp.

}  // namespace
}  // namespace troupe
