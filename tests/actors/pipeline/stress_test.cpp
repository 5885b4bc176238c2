#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "actors/pipeline/listed_records.h"
#include "support/thread_names.h"
#include "troupe/actors/pipeline/feed.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/ops/memory.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

constexpr std::chrono::seconds kDeadline{60};

int cycles() {
  const auto* given = std::getenv("TROUPE_STRESS_CYCLES");
  constexpr int kInAHurry = 60;
  return given != nullptr ? std::max(1, std::atoi(given)) : kInAHurry;
}

/// A pipeline of any shape, with more data than anybody reads.
Batches some_pipeline(RandomStream& random, Feed& feed) {
  const auto records = [&] {
    const auto block = static_cast<std::size_t>(1 + random.below(20));
    return test::number_examples(0, 100'000, block, static_cast<int>(1 + random.below(4)));
  };
  auto examples = records();
  if (random.below(2) == 0) examples = join({examples, records()});
  if (random.below(3) == 0) examples = join({examples, feed.examples()});
  if (random.below(2) == 0)
    examples = examples.map([](const Element& element) -> Element { return {element[0].clone()}; });
  const auto rows = static_cast<std::int64_t>(1 + random.below(100));
  const auto capacity = static_cast<std::int64_t>(100 + random.below(300));
  auto batches = random.below(2) == 0
                     ? examples.shuffle({.capacity = capacity, .min_after_dequeue = capacity / 2})
                           .batch(rows, Remainder::keep)
                     : examples.buffer(capacity).batch(rows, Remainder::drop);
  return batches.prefetch(static_cast<std::int64_t>(1 + random.below(3)));
}

void read_in_order(const Batches& batches, std::uint64_t reads) {
  BatchIterator iterator(batches, {2, 1});
  for (; reads > 0; --reads) ASSERT_TRUE(iterator.next());
  ASSERT_TRUE(iterator.stop(kDeadline).empty());
}

void read_as_they_come(const Batches& batches, std::uint64_t reads) {
  Troupe troupe({2, 1});
  {
    const auto running = batches.spawn(troupe, "", 1);
    for (const auto& [name, decoder] : running.decoders) troupe.tell(decoder, start_atom_v);
    for (; reads > 0; --reads)
      troupe.ask<Batch>(running.queue, kDeadline, dequeue_atom_v, DequeueRequest{batches.rows()});
  }
  ASSERT_TRUE(troupe.stop(kDeadline).empty());
}

// Every cycle starts a pipeline and stops it under load: before, while or after its
// first batches come. TROUPE_STRESS_CYCLES says how many cycles there are.
TEST(StartingAndStopping, LeavesNoThreadNoMemoryAndNobodyWaiting) {
  RandomStream random(2026);
  const auto threads = test::thread_count();
  const auto memory = memory_use().live;
  for (int cycle = 0; cycle < cycles(); ++cycle) {
    SCOPED_TRACE(cycle);
    Feed feed({{"number", {DType::int64, {}}}}, {.capacity = 8});
    std::thread pusher([feed]() mutable {
      try {
        while (true) feed.push({Tensor::scalar<std::int64_t>(1)});
      } catch (const Error&) {  // the pipeline has ended
      }
    });
    const auto batches = some_pipeline(random, feed);
    const auto reads = random.below(12);
    if (random.below(2) == 0)
      read_in_order(batches, reads);
    else
      read_as_they_come(batches, reads);
    feed.close();  // unless the pipeline had it
    pusher.join();
  }
  EXPECT_EQ(memory_use().live, memory);
  EXPECT_EQ(test::thread_count_after_the_end(threads), threads);
}

}  // namespace
}  // namespace troupe
