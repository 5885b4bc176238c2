// How many elements pass through a queue, from actors that enqueue to actors that dequeue.
//
//   build/bench/bench/queue_benchmark
//   python bench/peers/queue_tf.py --pairs 1 --block 128       (the same in TensorFlow)
//
// Expect several million elements of 1 KiB a second in blocks of 128 on two CPUs.

#include <benchmark/benchmark.h>

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include "troupe/messages/system_config.h"
#include "troupe/queues/fifo_queue.h"
#include "troupe/queues/priority_queue.h"
#include "troupe/queues/random_shuffle_queue.h"

namespace troupe {
namespace {

constexpr std::int64_t kElements = 409'600;

struct Load {
  std::int64_t pairs = 1;  ///< actors that enqueue, and as many that dequeue
  std::int64_t block = 128;
  std::int64_t bytes = 1024;
  bool ranked = false;  ///< a priority in front
};

ElementBlock make_block(const Load& load) {
  ElementBlock block;
  block.elements.reserve(static_cast<std::size_t>(load.block));
  for (std::int64_t i = 0; i < load.block; ++i) {
    Element element;
    if (load.ranked) element.push_back(Tensor::scalar<std::int64_t>(i * 7919 % 101));
    element.push_back(Tensor::uninitialized(DType::uint8, {load.bytes}));
    block.elements.push_back(std::move(element));
  }
  return block;
}

/// Enqueues blocks, one after the other, until `left` elements are in; then detaches.
void produce(caf::event_based_actor* self, const Queue& queue, const Load& load,
             std::int64_t left) {
  if (left <= 0)
    self->request(queue, caf::infinite, detach_atom_v, CloseReason{}).then([](caf::ok_atom) {});
  else
    self->request(queue, caf::infinite, enqueue_atom_v, make_block(load), EnqueueOptions{})
        .then([=](caf::ok_atom) { produce(self, queue, load, left - load.block); });
}

void attach_and_produce(caf::event_based_actor* self, const Queue& queue, const Load& load) {
  self->request(queue, caf::infinite, attach_atom_v).then([=](caf::ok_atom) {
    produce(self, queue, load, kElements / load.pairs);
  });
}

/// Dequeues batches to the end, and tells `whom` how many elements came.
void consume(caf::event_based_actor* self, const Queue& queue, std::int64_t batch,
             const caf::actor& whom, std::int64_t done) {
  self->request(queue, caf::infinite, dequeue_atom_v, DequeueRequest{batch, true})
      .then([=](const Batch& b) { consume(self, queue, batch, whom, done + b.rows()); },
            [=](const caf::error&) { self->send(whom, done); });
}

/// Arguments: pairs, elements in a block and in a batch, bytes of an element.
template <class Kind, class Options>
void pass_elements(benchmark::State& state, Kind kind, Options options, bool ranked = false) {
  const Load load{state.range(0), state.range(1), state.range(2), ranked};
  options.producers = load.pairs;
  SystemConfig config({static_cast<int>(2 * load.pairs), 1});
  caf::actor_system system(config);
  caf::scoped_actor self{system};
  for (auto _ : state) {
    const Queue queue = system.spawn(kind, options);
    const auto whom = caf::actor_cast<caf::actor>(self);
    for (std::int64_t i = 0; i < load.pairs; ++i) {
      system.spawn(consume, queue, load.block, whom, std::int64_t{0});
      system.spawn(attach_and_produce, queue, load);
    }
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < load.pairs; ++i)
      self->receive([&](std::int64_t done) { total += done; });
    if (total < kElements) state.SkipWithError("elements are missing");
  }
  state.SetItemsProcessed(state.iterations() * kElements);
  state.SetBytesProcessed(state.iterations() * kElements * load.bytes);
}

void fifo(benchmark::State& state) {
  QueueOptions options;
  options.capacity = 4096;
  pass_elements(state, fifo_queue, options);
}
BENCHMARK(fifo)
    ->ArgNames({"pairs", "block", "bytes"})
    ->Args({1, 128, 1024})
    ->Args({4, 128, 1024})
    ->Args({1, 1, 1024})
    ->Args({4, 1, 1024})
    ->Args({1, 128, 16})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void random_shuffle(benchmark::State& state) {
  RandomShuffleQueueOptions options;
  options.capacity = 4096;
  options.min_after_dequeue = 2048;
  pass_elements(state, random_shuffle_queue, options);
}
BENCHMARK(random_shuffle)
    ->ArgNames({"pairs", "block", "bytes"})
    ->Args({1, 128, 1024})
    ->Args({4, 128, 1024})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void priority(benchmark::State& state) {
  QueueOptions options;
  options.capacity = 4096;
  pass_elements(state, priority_queue, options, true);
}
BENCHMARK(priority)
    ->ArgNames({"pairs", "block", "bytes"})
    ->Args({1, 128, 1024})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
