// How fast TFRecords of tf.train.Example messages become batches.
//
//   taskset -c 0   build/bench/bench/tfrecord_benchmark examples.tfrecord 1
//   taskset -c 0,1 build/bench/bench/tfrecord_benchmark examples.tfrecord 2
//
// Writes the file when it is not there: 200,000 examples of 32 floats, 16 integers, a label and
// a name, 280 bytes each. bench/peers/tfrecord_tf.py reads the same file with tf.data. Expect
// more than 1.5 times its examples/s.

#include <algorithm>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <vector>

#include "troupe/actors/decoders/decoder.h"
#include "troupe/actors/decoders/example_builder.h"
#include "troupe/actors/decoders/example_decoder.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/actors/readers/tfrecord_source.h"
#include "troupe/actors/readers/tfrecord_writer.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/random.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

constexpr std::int64_t kExamples = 200'000;
constexpr std::int64_t kBatch = 128;
constexpr int kRounds = 7;

void write_examples(const std::string& path) {
  TFRecordWriter writer(path);
  RandomStream random(1);
  std::vector<float> x(32);
  std::vector<std::int64_t> ids(16);
  for (std::int64_t i = 0; i < kExamples; ++i) {
    for (auto& value : x) value = static_cast<float>(random.uniform());
    for (auto& id : ids) id = static_cast<std::int64_t>(random.below(100'000));
    const std::vector<std::int64_t> label{static_cast<std::int64_t>(random.below(10))};
    const std::vector<std::string> name{text("example ", i)};
    writer.write(ExampleBuilder()
                     .floats("x", x)
                     .ints("ids", ids)
                     .ints("label", label)
                     .bytes("name", name)
                     .message());
  }
  writer.close();
}

std::shared_ptr<TupleDecoder> make_decoder() {
  const auto examples =
      std::make_shared<ExampleDecoder>(ExampleDecoderOptions{{{"x", DType::float32, {32}},
                                                              {"ids", DType::int64, {16}},
                                                              {"label", DType::int64},
                                                              {"name", DType::string}}});
  return std::make_shared<TupleDecoder>(std::vector<std::shared_ptr<RecordDecoder>>{examples});
}

void consume(caf::event_based_actor* self, const Queue& queue, const caf::actor& whom,
             std::int64_t done) {
  self->request(queue, caf::infinite, dequeue_atom_v, DequeueRequest{kBatch, true})
      .then([=](const Batch& batch) { consume(self, queue, whom, done + batch.rows()); },
            [=](const caf::error&) { self->send(whom, done); });
}

/// All examples, through reader, decoders and queue, to batches.
std::int64_t read_batches(caf::actor_system& system, const std::string& path, int decoders) {
  caf::scoped_actor self{system};
  const std::shared_ptr<RecordSource> source =
      std::make_shared<TFRecordSource>(TFRecordOptions{.files = {path}});
  const Reader reader = system.spawn<caf::detached>(record_reader, source, ReaderOptions{});
  QueueOptions options;
  options.capacity = 1024;
  options.producers = decoders;
  const Queue queue = system.spawn(fifo_queue, options);
  system.spawn(consume, queue, caf::actor_cast<caf::actor>(self), std::int64_t{0});
  for (int i = 0; i < decoders; ++i)
    caf::anon_send(system.spawn(decoder, reader, queue, make_decoder()), start_atom_v);
  std::int64_t all = 0;
  self->receive([&](std::int64_t done) { all = done; });
  return all;
}

std::int64_t read_records(const std::string& path) {
  TFRecordSource source({.files = {path}});
  std::vector<RecordRun> runs;
  std::int64_t count = 0;
  while (source.read(runs, {})) count += static_cast<std::int64_t>(runs[0].count());
  return count;
}

/// Read and decoded in one thread, without an actor: what decoding itself costs.
std::int64_t decode_records(const std::string& path) {
  TFRecordSource source({.files = {path}});
  const auto decoder = make_decoder();
  RecordBlock block;
  std::int64_t count = 0;
  while (source.read(block.streams, {}))
    count += static_cast<std::int64_t>(decoder->decode(block).elements.size());
  return count;
}

/// Prints the median rate with the slowest and the fastest round, and the median of examples
/// for each second that CPUs worked, which other programs disturb less.
template <class Work>
void measure(const char* what, Work work) {
  std::vector<double> rates, cpu_rates;
  for (int round = 0; round < kRounds; ++round) {
    const auto cpu = std::clock();
    const auto start = std::chrono::steady_clock::now();
    if (work() != kExamples) std::printf("examples are missing\n");
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    rates.push_back(kExamples / wall.count());
    cpu_rates.push_back(kExamples * double{CLOCKS_PER_SEC} /
                        static_cast<double>(std::clock() - cpu));
  }
  std::ranges::sort(rates);
  std::ranges::sort(cpu_rates);
  std::printf("%-24s %9.0f examples/s (%.0f to %.0f), %9.0f per CPU second\n", what,
              rates[kRounds / 2], rates.front(), rates.back(), cpu_rates[kRounds / 2]);
}

void run(const std::string& path, int threads) {
  if (!std::filesystem::exists(path)) write_examples(path);
  SystemConfig config({threads, 1});
  caf::actor_system system(config);
  measure("records", [&] { return read_records(path); });
  measure("records, decoded", [&] { return decode_records(path); });
  measure("batches", [&] { return read_batches(system, path, threads); });
}

}  // namespace
}  // namespace troupe

int main(int count, char** words) {
  if (count != 3) {
    std::printf("usage: tfrecord_benchmark FILE THREADS\n");
    return 1;
  }
  try {
    troupe::run(words[1], std::atoi(words[2]));
  } catch (const troupe::Error& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
