#include "troupe/queues/padding_fifo_queue.h"

#include <gmock/gmock.h>

#include "queues/queue_driver.h"
#include "support/actor_test.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kOpen = Shape::kUnknown;

Element row(const std::vector<std::int64_t>& values) {
  return {Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values)};
}

QueueOptions of(std::vector<QueueComponent> components, TensorList padding = {}) {
  QueueOptions options;
  options.name = "q";
  options.capacity = 10;
  options.components = std::move(components);
  if (!padding.empty()) options.padding.emplace().exact = std::move(padding);
  return options;
}

class PaddingFifoQueue : public test::ActorTest {
 protected:
  void make(const QueueOptions& options) { queue = spawn(padding_fifo_queue, options); }
  auto enqueue(std::vector<Element> elements) {
    return ask<caf::ok_atom>(queue, enqueue_atom_v, ElementBlock{0, std::move(elements)},
                             EnqueueOptions{});
  }
  auto dequeue(std::int64_t count, bool up_to = false) {
    return ask<Batch>(queue, dequeue_atom_v, DequeueRequest{count, up_to});
  }
  Queue queue;
};

TEST_F(PaddingFifoQueue, PadsEveryOpenExtentToTheLargestOfTheBatch) {
  make(of({{"words", {DType::int64, {kOpen}}}}));
  enqueue({row({1}), row({2, 3, 4}), row({5, 6}), row({7, 8, 9, 10})});
  EXPECT_EQ(dequeue(3)->value->components[0],
            Tensor::of<std::int64_t>({3, 3}, {1, 0, 0, 2, 3, 4, 5, 6, 0}))
      << "the fourth element is longer, but in another batch";
}

TEST_F(PaddingFifoQueue, GivesASingleElementUnpadded) {
  make(of({{"words", {DType::int64, {kOpen}}}}));
  enqueue({row({1}), row({2, 3, 4})});
  EXPECT_EQ(dequeue(1)->value->components[0], Tensor::of<std::int64_t>({1, 1}, {1}));
  EXPECT_EQ(dequeue(1)->value->components[0], Tensor::of<std::int64_t>({1, 3}, {2, 3, 4}));
}

TEST_F(PaddingFifoQueue, PadsWhatIsLeftAfterTheClose) {
  make(of({{"words", {DType::int64, {kOpen}}}}));
  enqueue({row({1}), row({2, 3})});
  ask<caf::ok_atom>(queue, caf::close_atom_v, CloseRequest{});
  EXPECT_EQ(dequeue(5, true)->value->components[0], Tensor::of<std::int64_t>({2, 2}, {1, 0, 2, 3}));
}

TEST_F(PaddingFifoQueue, PadsEachComponentWithItsOwnValue) {
  make(of({{"ids", {DType::int64, {kOpen}}}, {"weights", {DType::float32, {kOpen}}}},
          {Tensor::scalar<std::int64_t>(-1), Tensor::scalar<float>(0.5f)}));
  enqueue({{Tensor::of<std::int64_t>({1}, {7}), Tensor::of<float>({2}, {1, 2})},
           {Tensor::of<std::int64_t>({2}, {8, 9}), Tensor::of<float>({0}, {})}});
  const auto batch = *dequeue(2)->value;
  EXPECT_EQ(batch.components[0], Tensor::of<std::int64_t>({2, 2}, {7, -1, 8, 9}));
  EXPECT_EQ(batch.components[1], Tensor::of<float>({2, 2}, {1, 2, 0.5f, 0.5f}));
}

TEST_F(PaddingFifoQueue, PadsStringsWithEmptyOnes) {
  make(of({{"words", {DType::string, {kOpen}}}}));
  enqueue({{Tensor::of<std::string>({2}, {"a", "long enough to be on the heap"})},
           {Tensor::of<std::string>({1}, {"b"})}});
  EXPECT_EQ(dequeue(2)->value->components[0],
            Tensor::of<std::string>({2, 2}, {"a", "long enough to be on the heap", "b", ""}));
}

TEST_F(PaddingFifoQueue, KeepsTheExtentsThatAreFixed) {
  make(of({{"boxes", {DType::int64, {kOpen, 2}}}}));
  EXPECT_THAT(enqueue({{Tensor(DType::int64, {1, 3})}})->words(),
              HasSubstr("component 0 'boxes' of element 0 of the block is int64 [1, 3], but must "
                        "be int64 [?, 2]"));
  EXPECT_THAT(enqueue({{Tensor(DType::int64, {2})}})->words(), HasSubstr("must be int64 [?, 2]"));
}

TEST_F(PaddingFifoQueue, LearnsDtypeAndRankFromTheFirstElement) {
  make(of({}));
  enqueue({row({1})});
  EXPECT_FALSE(enqueue({row({2, 3})})->fault);
  EXPECT_TRUE(enqueue({{Tensor(DType::int64, {1, 1})}})->fault) << "another rank";
  EXPECT_EQ(dequeue(2)->value->components[0].shape(), Shape({2, 2}));
}

TEST_F(PaddingFifoQueue, GivesAnEmptyBatchWithoutUnknownExtents) {
  make(of({{"boxes", {DType::int64, {kOpen, 2}}}}));
  EXPECT_EQ(dequeue(0)->value->components[0].shape(), Shape({0, 0, 2}));
}

TEST_F(PaddingFifoQueue, IsClosedFromTheStartWhenItsPaddingDoesNotFit) {
  make(of({{"ids", {DType::int64, {kOpen}}}}, {Tensor::scalar<float>(0)}));
  const auto batch = dequeue(1);
  EXPECT_EQ(code_of(batch->fault), Code::invalid_argument);
  EXPECT_THAT(batch->words(),
              HasSubstr("PaddingFIFOQueue 'q': the padding of component 0 'ids' is float32 [], but "
                        "must be one value of its dtype: int64 []"));
  make(of({}, {Tensor::scalar<float>(0)}));
  EXPECT_THAT(dequeue(1)->words(), HasSubstr("1 exact padding values for 0 components"));
}

TEST(PaddedBatches, WorkForAnyRankAndWidthOfAValue) {
  for (const auto dtype : {DType::uint8, DType::int16, DType::float32, DType::float64})
    for (int rank = 1; rank < Shape::kMaxRank; ++rank) {
      SCOPED_TRACE(text(dtype, " rank ", rank));
      Shape small(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1));
      Shape large(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 2));
      small.set(0, 2);  // equal in one axis, shorter in the others
      const Element a{Tensor::filled(dtype, small, 1)};
      const Element b{Tensor::filled(dtype, large, 2)};
      ElementPadding padding;
      padding.exact = {Tensor::filled(dtype, {}, 3)};
      const auto padded = stack_padded(std::vector<Element>{a, b}, padding)[0];
      ASSERT_EQ(padded.shape(), large.with_first(2));
      const auto values = padded.cast(DType::float64);
      const auto volume = large.volume();
      for (std::int64_t i = 0; i < volume; ++i) {
        const bool inside = i % (volume / 2) == 0;  // all indices but the first are 0
        EXPECT_EQ(values.at(i), inside ? 1 : 3) << i;
        EXPECT_EQ(values.at(volume + i), 2);
      }
    }
}

TEST(PaddedBatches, MayBeFilledUpWithAnyStringOrInteger) {
  ElementPadding padding;
  constexpr std::int64_t kLarge = (std::int64_t{1} << 62) + 1;  // no double has this value
  padding.exact = {Tensor::scalar<std::string>("<pad>"), Tensor::scalar<std::int64_t>(kLarge)};
  const std::vector<Element> elements{
      {Tensor::of<std::string>({1}, {"a"}), Tensor::of<std::int64_t>({0}, {})},
      {Tensor::of<std::string>({2}, {"b", "c"}), Tensor::of<std::int64_t>({1}, {7})}};
  const auto batch = stack_padded(elements, padding);
  EXPECT_EQ(batch[0], Tensor::of<std::string>({2, 2}, {"a", "<pad>", "b", "c"}));
  EXPECT_EQ(batch[1], Tensor::of<std::int64_t>({2, 1}, {kLarge, 7}));
}

TEST(PaddedBatches, MayBeEmptyInEveryRow) {
  EXPECT_EQ(stack_padded(std::vector<Element>{row({}), row({})}, {})[0].shape(), Shape({2, 0}));
}

}  // namespace
}  // namespace troupe
