// How many elements pass through a queue from one producer to one consumer.
//
//   build/bench/bench/queue_benchmark
//
// Expect several million elements of 1 KiB a second in blocks of 128 on two CPUs.

#include <benchmark/benchmark.h>

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include "troupe/messages/system_config.h"
#include "troupe/queues/fifo_queue.h"
#include "troupe/queues/random_shuffle_queue.h"

namespace troupe {
namespace {

constexpr std::int64_t kElements = 400'000;

ElementBlock make_block(std::int64_t count, std::int64_t bytes) {
  ElementBlock block;
  block.elements.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    block.elements.push_back({Tensor::uninitialized(DType::uint8, {bytes})});
  return block;
}

/// Enqueues blocks, one after the other, until kElements are in; then closes.
void produce(caf::event_based_actor* self, const Queue& queue, std::int64_t block,
             std::int64_t bytes, std::int64_t done) {
  if (done >= kElements)
    self->anon_send(queue, caf::close_atom_v, CloseRequest{});
  else
    self->request(queue, caf::infinite, enqueue_atom_v, make_block(block, bytes), EnqueueOptions{})
        .then([=](caf::ok_atom) { produce(self, queue, block, bytes, done + block); });
}

/// Dequeues batches to the end, and tells `whom` how many elements came.
void consume(caf::event_based_actor* self, const Queue& queue, std::int64_t batch,
             const caf::actor& whom, std::int64_t done) {
  self->request(queue, caf::infinite, dequeue_atom_v, DequeueRequest{batch, true})
      .then([=](const Batch& b) { consume(self, queue, batch, whom, done + b.rows()); },
            [=](const caf::error&) { self->send(whom, done); });
}

/// Arguments: elements in a block and in a batch, bytes of an element.
template <class Kind, class Options>
void pass_elements(benchmark::State& state, Kind kind, const Options& options) {
  const auto block = state.range(0);
  const auto bytes = state.range(1);
  SystemConfig config({2, 1});
  caf::actor_system system(config);
  caf::scoped_actor self{system};
  for (auto _ : state) {
    const Queue queue = system.spawn(kind, options);
    const auto whom = caf::actor_cast<caf::actor>(self);
    system.spawn(consume, queue, block, whom, std::int64_t{0});
    system.spawn(produce, queue, block, bytes, std::int64_t{0});
    self->receive([&](std::int64_t done) {
      if (done < kElements) state.SkipWithError("elements are missing");
    });
  }
  state.SetItemsProcessed(state.iterations() * kElements);
  state.SetBytesProcessed(state.iterations() * kElements * bytes);
}

void fifo(benchmark::State& state) {
  QueueOptions options;
  options.capacity = 4096;
  pass_elements(state, fifo_queue, options);
}
BENCHMARK(fifo)->Args({128, 1024})->Args({128, 16})->Args({1, 1024})->UseRealTime();

void random_shuffle(benchmark::State& state) {
  RandomShuffleQueueOptions options;
  options.capacity = 4096;
  options.min_after_dequeue = 2048;
  pass_elements(state, random_shuffle_queue, options);
}
BENCHMARK(random_shuffle)->Args({128, 1024})->UseRealTime();

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
