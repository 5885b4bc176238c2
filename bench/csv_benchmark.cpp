// How fast CSV becomes tensors: 1,000,000 records of 17 columns (6 integers, 8 floats,
// 3 short strings), about 110 bytes each.
//
//   build/bench/bench/csv_benchmark
//
// The file is made in the temporary directory and removed at the end, or it is the one
// that the environment variable TROUPE_CSV_FILE names: bench/peers/csv_peers.py makes it
// and reads the same with pandas and TensorFlow. Expect 1.9 times the rate of one decoder
// from two on two CPUs that do nothing else.

#include <benchmark/benchmark.h>

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "troupe/actors/decoders/csv_decoder.h"
#include "troupe/actors/decoders/decoder.h"
#include "troupe/actors/readers/csv_source.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/random.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

constexpr int kRecords = 1'000'000;
constexpr int kIntegers = 6;
constexpr int kFloats = 8;
constexpr int kStrings = 3;
constexpr std::size_t kBlock = 128;  // records that move together

class CsvFile {
 public:
  CsvFile() {
    if (const char* given = std::getenv("TROUPE_CSV_FILE")) {
      path_ = given;
      return;
    }
    path_ = std::filesystem::temp_directory_path() / "troupe_csv_benchmark.csv";
    own_ = true;
    constexpr const char* kWords[] = {"red", "green", "blue", "Berlin", "Lisbon", "q7", "n/a", "x"};
    std::ofstream out(path_, std::ios::binary);
    RandomStream random(1);
    const auto below = [&](double n) { return static_cast<int>(random.uniform() * n); };
    std::string line;
    for (int i = 0; i < kRecords; ++i) {
      line = std::to_string(i);
      for (int c = 1; c < kIntegers; ++c) line += text(",", below(std::pow(10, c + 1)));
      for (int c = 0; c < kFloats; ++c) {
        char field[32];
        std::snprintf(field, sizeof field, ",%.*f", 2 + c % 5, random.uniform() * 200 - 100);
        line += field;
      }
      for (int c = 0; c < kStrings; ++c) line += text(",", kWords[below(8)]);
      out << line << '\n';
    }
  }
  ~CsvFile() {
    if (own_) std::filesystem::remove(path_);
  }
  std::string path() const { return path_.string(); }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(std::filesystem::file_size(path_));
  }

 private:
  std::filesystem::path path_;
  bool own_ = false;
};

const CsvFile& csv_file() {
  static const CsvFile file;
  return file;
}

std::unique_ptr<CsvSource> open_file() {
  return std::make_unique<CsvSource>(CsvOptions{.files = {csv_file().path()}});
}

/// One tensor for each dtype, or one for each column.
std::shared_ptr<TupleDecoder> make_decoder(bool stacked) {
  std::vector<CsvColumn> integers, floats, strings;
  for (int i = 0; i < kIntegers; ++i) integers.push_back(csv::required<std::int64_t>(text("i", i)));
  for (int i = 0; i < kFloats; ++i) floats.push_back(csv::required<float>(text("f", i)));
  for (int i = 0; i < kStrings; ++i) strings.push_back(csv::required<std::string>(text("s", i)));
  std::vector<CsvComponent> components;
  for (const auto& [name, columns] : {std::pair("integers", integers), std::pair("floats", floats),
                                      std::pair("strings", strings)})
    if (stacked)
      components.push_back(csv::stack(name, columns));
    else
      components.insert(components.end(), columns.begin(), columns.end());
  return std::make_shared<TupleDecoder>(
      std::vector<std::shared_ptr<RecordDecoder>>{std::make_shared<CsvDecoder>(components)});
}

void report(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * kRecords);
  state.SetBytesProcessed(state.iterations() * csv_file().bytes());
}

/// The source alone: every block is dropped.
void read_records(benchmark::State& state) {
  csv_file();
  for (auto _ : state) {
    const auto source = open_file();
    std::vector<RecordRun> runs;
    while (source->read(runs, {.records = kBlock})) benchmark::DoNotOptimize(runs.data());
  }
  report(state);
}
BENCHMARK(read_records)->UseRealTime()->Unit(benchmark::kMillisecond);

/// From the file to tensors in one thread. Argument: whether columns are stacked.
void read_and_decode(benchmark::State& state) {
  csv_file();
  const auto decoder = make_decoder(state.range(0) != 0);
  for (auto _ : state) {
    const auto source = open_file();
    RecordBlock block;
    std::size_t records = 0;
    while (source->read(block.streams, {.records = kBlock}))
      records += decoder->decode(block).elements.size();
    if (records != kRecords) state.SkipWithError("records are missing");
  }
  report(state);
}
BENCHMARK(read_and_decode)->Arg(1)->Arg(0)->UseRealTime()->Unit(benchmark::kMillisecond);

void consume(caf::event_based_actor* self, const Queue& queue, const caf::actor& whom,
             std::int64_t done) {
  self->request(queue, caf::infinite, dequeue_atom_v, DequeueRequest{1000, true})
      .then([=](const Batch& batch) { consume(self, queue, whom, done + batch.rows()); },
            [=](const caf::error&) { self->send(whom, done); });
}

/// From the file to batches of 1000, by actors. Argument: decoders, and as many workers.
void pipeline(benchmark::State& state) {
  const int decoders = static_cast<int>(state.range(0));
  csv_file();
  SystemConfig config({decoders, 1});
  caf::actor_system system(config);
  caf::scoped_actor self{system};
  for (auto _ : state) {
    ReaderOptions reading;
    reading.limits.records = kBlock;
    reading.read_ahead = 4;
    const std::shared_ptr<RecordSource> source = open_file();
    const Reader reader = system.spawn<caf::detached>(record_reader, source, reading);
    QueueOptions options;
    options.capacity = 4000;
    options.producers = decoders;
    const Queue queue = system.spawn(fifo_queue, options);
    system.spawn(consume, queue, caf::actor_cast<caf::actor>(self), std::int64_t{0});
    for (int i = 0; i < decoders; ++i)
      caf::anon_send(system.spawn(decoder, reader, queue, make_decoder(true)), start_atom_v);
    self->receive([&](std::int64_t done) {
      if (done != kRecords) state.SkipWithError("records are missing");
    });
  }
  report(state);
}
BENCHMARK(pipeline)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Decoders alone, each in a thread of its own with blocks that are in memory already.
void decode_only(benchmark::State& state) {
  static std::vector<RecordBlock> blocks;
  if (state.thread_index() == 0 && blocks.empty()) {
    const auto source = open_file();
    RecordBlock block;
    while (source->read(block.streams, {.records = kBlock})) blocks.push_back(block);
  }
  const auto decoder = make_decoder(true);
  std::size_t records = 0;
  for (auto _ : state)
    for (std::size_t i = static_cast<std::size_t>(state.thread_index()); i < blocks.size();
         i += static_cast<std::size_t>(state.threads()))
      records += decoder->decode(blocks[i]).elements.size();
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}
BENCHMARK(decode_only)->Threads(1)->Threads(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
