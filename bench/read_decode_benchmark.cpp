// How fast lines of numbers become tensors in a queue: one reader, 1 or 2 decoders.
//
//   build/bench/bench/read_decode_benchmark
//
// The lines are those of the headline program: 3900 numbers of 6 digits, 35 KB. They
// are in the page cache after the first round. The column CPU is of the whole process.
//
// A second decoder cannot double the rate on two CPUs: the reader is a thread of its
// own, so that one decoder keeps more than one CPU busy. Expect the time of two decoders
// to be half of the CPU time, which is all there is. On one CPU the same work
// takes twice as long.

#include <benchmark/benchmark.h>
#include <sched.h>

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "troupe/actors/decoders/decoder.h"
#include "troupe/actors/decoders/number_decoder.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/actors/readers/text_line_source.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/random.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

constexpr int kLines = 4000;
constexpr int kColumns = 3900;

/// A file of its own, made once and removed at the end.
class NumberFile {
 public:
  NumberFile() : path_(std::filesystem::temp_directory_path() / "troupe_read_decode.txt") {
    std::ofstream out(path_, std::ios::binary);
    RandomStream random(1);
    std::string line;
    char field[16];
    for (int i = 0; i < kLines; ++i) {
      line.clear();
      for (int c = 0; c < kColumns; ++c)
        line.append(field, static_cast<std::size_t>(
                               std::snprintf(field, sizeof(field), "%.6f ", random.uniform())));
      line.back() = '\n';
      out << line;
    }
  }
  ~NumberFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(std::filesystem::file_size(path_));
  }

 private:
  std::filesystem::path path_;
};

const NumberFile& number_file() {
  static const NumberFile file;
  return file;
}

void consume(caf::event_based_actor* self, const Queue& queue, const caf::actor& whom,
             std::int64_t done) {
  self->request(queue, caf::infinite, dequeue_atom_v, DequeueRequest{100, true})
      .then([=](const Batch& batch) { consume(self, queue, whom, done + batch.rows()); },
            [=](const caf::error&) { self->send(whom, done); });
}

/// What follows in this process, and the threads that it starts, runs on the first
/// `count` of the CPUs that it had at the start.
void use_cpus(int count) {
  static const cpu_set_t all = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    return set;
  }();
  cpu_set_t some;
  CPU_ZERO(&some);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&some) < count; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &some);
  sched_setaffinity(0, sizeof(some), &some);
}

/// Arguments: decoders, and as many workers; CPUs.
void read_and_decode(benchmark::State& state) {
  const int decoders = static_cast<int>(state.range(0));
  number_file();
  use_cpus(static_cast<int>(state.range(1)));
  SystemConfig config({decoders, 1});
  caf::actor_system system(config);
  caf::scoped_actor self{system};
  for (auto _ : state) {
    const std::shared_ptr<RecordSource> source =
        std::make_shared<TextLineSource>(TextLineOptions{.files = {number_file().path()}});
    const Reader reader = system.spawn<caf::detached>(record_reader, source, ReaderOptions{});
    QueueOptions options;
    options.capacity = 500;
    options.producers = decoders;
    const Queue queue = system.spawn(fifo_queue, options);
    system.spawn(consume, queue, caf::actor_cast<caf::actor>(self), std::int64_t{0});
    for (int i = 0; i < decoders; ++i) {
      const auto numbers =
          std::make_shared<NumberDecoder>(NumberDecoderOptions{.shape = {20, 195, 1}});
      const Decoder d = system.spawn(
          decoder, reader, queue,
          std::make_shared<TupleDecoder>(std::vector<std::shared_ptr<RecordDecoder>>{numbers}));
      caf::anon_send(d, start_atom_v);
    }
    self->receive([&](std::int64_t done) {
      if (done != kLines) state.SkipWithError("lines are missing");
    });
  }
  state.SetItemsProcessed(state.iterations() * kLines);
  state.SetBytesProcessed(state.iterations() * number_file().bytes());
}
BENCHMARK(read_and_decode)
    ->ArgNames({"decoders", "cpus"})
    ->Args({1, 1})
    ->Args({1, 2})
    ->Args({2, 2})
    ->Args({4, 2})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// The reader alone: every block is dropped.
void read_only(benchmark::State& state) {
  number_file();
  for (auto _ : state) {
    TextLineSource source({.files = {number_file().path()}});
    std::vector<RecordRun> runs;
    while (source.read(runs, {})) benchmark::DoNotOptimize(runs.data());
  }
  state.SetBytesProcessed(state.iterations() * number_file().bytes());
}
BENCHMARK(read_only)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
