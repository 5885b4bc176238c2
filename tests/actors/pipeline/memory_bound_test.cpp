#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "actors/pipeline/listed_records.h"
#include "support/temporary_directory.h"
#include "troupe/actors/pipeline/feed.h"
#include "troupe/actors/pipeline/records.h"
#include "troupe/ops/memory.h"

namespace troupe {
namespace {

/// Counts the bytes that tensors hold while a pipeline runs: at each element that a
/// decoder makes, and at each batch that a slow consumer takes.
class PipelineMemory : public ::testing::Test {
 protected:
  /// Element n is a tensor of as many floats as `size` says.
  Examples examples(std::function<std::int64_t(std::int64_t)> size, TensorSpec spec) {
    return test::number_examples(0, 2000, 16, 4)
        .map(
            [this, size](const Element& element) -> Element {
              Element made{Tensor(DType::float32, {size(element[0].read<std::int64_t>()[0])})};
              note();
              return made;
            },
            {std::move(spec)});
  }
  void note() {
    auto most = most_.load();
    const auto live = memory_use().live - before_;
    while (live > most && !most_.compare_exchange_weak(most, live)) {
    }
  }
  /// Reads all batches, keeping the last two as a replica would.
  std::int64_t read(const Batches& batches) {
    std::int64_t rows = 0;
    BatchIterator iterator(batches, {2, 1});
    std::optional<Batch> in_work;
    while (auto batch = iterator.next()) {
      rows += batch->rows();
      in_work = std::move(batch);
      note();
    }
    return rows;
  }

  std::size_t before_ = memory_use().live;
  std::atomic<std::size_t> most_{0};
};

TEST_F(PipelineMemory, StaysWithinTheBoundWhereSizesAreFixed) {
  const auto batches = examples([](std::int64_t) { return 1000; }, {DType::float32, {1000}})
                           .buffer(200)
                           .batch(50, Remainder::keep);
  const auto bound = batches.memory_bound(1);
  EXPECT_EQ(read(batches), 2000);
  EXPECT_LE(most_.load(), bound);
  EXPECT_GE(most_.load(), batches.memory(1).queue / 2) << "the bound is not just large";
}

TEST_F(PipelineMemory, StaysWithinTheBoundOfBytesWhereSizesVary) {
  const auto sizes = [](std::int64_t n) { return n % 10 == 0 ? 5000 : 100; };
  const auto batches = examples(sizes, {DType::float32, {-1}})
                           .buffer({.capacity = 1000, .capacity_bytes = 200'000})
                           .padded_batch(10, Remainder::keep, {.batch_bytes = 200'000});
  const auto queue = batches.memory(1).queue;
  EXPECT_LT(queue, 1'200'000u);
  EXPECT_EQ(read(batches), 2000);
  EXPECT_LE(most_.load(), batches.memory_bound(1));
}

/// Gives all elements of a run rows of one tensor, as a fast decoder may.
class SharingDecoder : public RecordDecoder {
 public:
  std::vector<QueueComponent> components() const override {
    return {{"row", {DType::float32, {1000}}}};
  }
  void decode(const RecordRun&, std::size_t, Element& element) override {
    element.push_back(Tensor(DType::float32, {1000}));
  }
  void decode_run(const RecordRun&, std::span<Element> elements, const Refuse&) override {
    const auto count = static_cast<std::int64_t>(elements.size());
    const Tensor rows(DType::float32, {count, 1000});
    for (std::int64_t i = 0; i < count; ++i)
      elements[static_cast<std::size_t>(i)].push_back(rows.row(i));
  }
};

TEST_F(PipelineMemory, StaysWithinTheBoundWhereDecodersShareAndElementsLeaveInAnyOrder) {
  const auto note_it = [this](const Element&) {
    note();
    return true;
  };
  const auto batches = test::listed(test::numbers_below(6000), 50)
                           .decode({[] { return std::make_shared<SharingDecoder>(); }},
                                   {.decoders = 2, .block_records = 50})
                           .filter(note_it)
                           .shuffle({.capacity = 300, .min_after_dequeue = 200})
                           .batch(20, Remainder::keep);
  EXPECT_EQ(read(batches), 6000);
  EXPECT_LE(most_.load(), batches.memory_bound(1));
}

TEST_F(PipelineMemory, StaysWithinTheBoundWhereManyFilesAreReadInTurn) {
  const test::TemporaryDirectory directory;
  std::vector<std::string> files;
  for (int f = 0; f < 16; ++f) {
    std::ofstream out(files.emplace_back(directory / std::to_string(f)));
    for (int line = 0; line < 4000; ++line) out << line << std::string(90, ' ') << '\n';
  }
  TextLineOptions options;
  options.buffer_bytes = 128 << 10;
  const auto note_it = [this](const Element&) {
    note();
    return true;
  };
  const auto batches = interleave(files, lines(options), {.cycle_length = 16, .block_length = 3})
                           .decode({numbers({})}, {.decoders = 1, .block_records = 20})
                           .filter(note_it)
                           .buffer(10)
                           .batch(5, Remainder::keep);
  const auto readers = batches.memory(1).readers;
  EXPECT_GE(readers, 16u * options.buffer_bytes) << "each file has a buffer of its own";
  EXPECT_EQ(read(batches), 16 * 4000);
  EXPECT_LE(most_.load(), batches.memory_bound(1));
}

TEST_F(PipelineMemory, IsGivenBackWhenAPipelineStopsHalfWay) {
  {
    BatchIterator iterator(examples([](std::int64_t) { return 1000; }, {DType::float32, {1000}})
                               .shuffle({.capacity = 300, .min_after_dequeue = 100})
                               .batch(50, Remainder::keep),
                           {2, 1});
    iterator.next();
    EXPECT_TRUE(iterator.stop(std::chrono::seconds(30)).empty());
  }
  EXPECT_EQ(memory_use().live, before_);
}

TEST_F(PipelineMemory, CountsEveryStage) {
  const auto batches = examples([](std::int64_t) { return 1000; }, {DType::float32, {1000}})
                           .buffer(200)
                           .batch(50, Remainder::keep);
  const auto one = batches.memory(1);
  EXPECT_GE(one.queue, 250u * 4000);
  EXPECT_GE(one.decoders, 4u * 16 * 4000);
  EXPECT_GE(one.batches, 3u * 50 * 4000);
  EXPECT_EQ(one.total(), one.readers + one.decoders + one.queue + one.batches);
  EXPECT_GE(batches.memory(2).batches, 5u * 50 * 4000);
  EXPECT_GE(batches.prefetch(3).memory(1).batches, 5u * 50 * 4000);
}

TEST_F(PipelineMemory, CountsWhatFeedsHold) {
  const Feed feed({{"x", {DType::float32, {10}}}}, {.capacity_bytes = 12345});
  EXPECT_GE(feed.examples().buffer(8).batch(2, Remainder::keep).memory(1).decoders, 12345u);
}

}  // namespace
}  // namespace troupe
