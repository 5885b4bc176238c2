// What it costs to keep the order of the records: the same pipeline with and without
// in_order(), with 4 decoders.
//
//   build/bench/bench/merge_benchmark --benchmark_enable_random_interleaving=true
//       --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
//
// The column CPU is of the whole process, all threads together. Expect at most 5 %
// between the two lines of a pair, in time and in CPU, but for lines of 4 numbers in
// blocks of 64: there next to nothing is done between one message and the next, and
// larger blocks help more than anything else.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

constexpr std::chrono::minutes kPatience{1};

/// Lines of so many numbers, in a file that is removed at the end.
class NumberFile {
 public:
  explicit NumberFile(std::int64_t columns)
      : lines_(std::int64_t{4'000'000} / columns),
        path_(std::filesystem::temp_directory_path() / text("troupe_merge_", columns, ".txt")) {
    std::ofstream out(path_, std::ios::binary);
    RandomStream random(1);
    std::string line;
    for (std::int64_t i = 0; i < lines_; ++i) {
      line.clear();
      for (std::int64_t c = 0; c < columns; ++c)
        line += text("0.", 100'000 + random.below(900'000), ' ');
      line.back() = '\n';
      out << line;
    }
  }
  ~NumberFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  std::int64_t lines() const { return lines_; }

 private:
  std::int64_t lines_;
  std::filesystem::path path_;
};

const NumberFile& number_file(std::int64_t columns) {
  static std::map<std::int64_t, NumberFile> files;
  return files.try_emplace(columns, columns).first->second;
}

/// Arguments: numbers in a line, lines in a block, whether the order is kept.
void read_all(benchmark::State& state) {
  const auto columns = state.range(0);
  const auto& file = number_file(columns);
  auto batches =
      read_text({file.path()})
          .decode({numbers({columns})},
                  {.decoders = 4, .block_records = static_cast<std::size_t>(state.range(1))})
          .buffer(2'000)
          .batch(100, Remainder::keep);
  if (state.range(2) == 1) batches = batches.in_order();
  for (auto _ : state) {
    Troupe troupe({2, 1});
    {
      const auto running = batches.spawn(troupe, "", 1);
      for (const auto& [name, decoder] : running.decoders) troupe.tell(decoder, start_atom_v);
      std::int64_t rows = 0;
      while (rows < file.lines())
        rows += troupe
                    .ask<Batch>(running.queue, kPatience, dequeue_atom_v,
                                DequeueRequest{batches.rows(), true})
                    .rows();
    }
    troupe.stop(kPatience);
  }
  state.SetItemsProcessed(state.iterations() * file.lines());
}
BENCHMARK(read_all)
    ->ArgNames({"columns", "block", "ordered"})
    ->ArgsProduct({{4}, {64, 512}, {0, 1}})
    ->ArgsProduct({{400}, {64}, {0, 1}})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
