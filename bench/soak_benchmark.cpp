// A pipeline whose consumer is much slower than its decoders, for as long as you like:
// its memory must stay within the declared bound.
//
//   build/bench/bench/soak_benchmark [seconds, 20 if not given]
//
// Prints the bound, and every second what tensors and the process take beyond what they
// took before the pipeline was started. Ends with 1 if the resident set grew by more than
// 1.1 times the bound. Expect flat lines below the bound.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/ops/error.h"
#include "troupe/ops/memory.h"

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;

/// Bytes of this process that are in memory.
std::int64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t pages = 0;
  file >> size >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

/// Lines of one number, from which elements of all sizes are made.
std::string write_lines() {
  const auto path = std::filesystem::temp_directory_path() / "troupe_soak.txt";
  std::ofstream out(path);
  for (int i = 0; i < 20'000; ++i) out << i * 7919 % 10'007 << '\n';
  return path.string();
}

double mebibytes(double bytes) { return bytes / (1 << 20); }

/// Reads until the time is over; whether the memory stayed within the bound.
bool soak(const char* title, const Batches& batches, Clock::duration time) {
  trim_memory();
  const auto before = resident();
  const auto live_before = static_cast<std::int64_t>(memory_use().live);
  const auto bound = batches.memory(1);
  std::printf(
      "%s\n%s\nbound %.1f MiB: readers %.1f, decoders %.1f, queue %.1f, batches %.1f\n", title,
      batches.describe().c_str(), mebibytes(static_cast<double>(bound.total())),
      mebibytes(static_cast<double>(bound.readers)), mebibytes(static_cast<double>(bound.decoders)),
      mebibytes(static_cast<double>(bound.queue)), mebibytes(static_cast<double>(bound.batches)));
  std::int64_t most = 0;
  std::int64_t most_live = 0;
  std::int64_t rows = 0;
  BatchIterator iterator(batches);
  const auto end = Clock::now() + time;
  auto next_line = Clock::now();
  std::optional<Batch> in_work;
  while (Clock::now() < end && (in_work = iterator.next())) {
    rows += in_work->rows();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a slow consumer
    most = std::max(most, resident() - before);
    most_live = std::max(most_live, static_cast<std::int64_t>(memory_use().live) - live_before);
    if (Clock::now() < next_line) continue;
    next_line = Clock::now() + std::chrono::seconds(1);
    std::printf(
        "  %8ld rows, tensors %+6.1f MiB, resident set %+6.1f MiB\n", static_cast<long>(rows),
        mebibytes(static_cast<double>(memory_use().live) - static_cast<double>(live_before)),
        mebibytes(static_cast<double>(resident() - before)));
    std::fflush(stdout);
  }
  const auto ratio = static_cast<double>(most) / static_cast<double>(bound.total());
  std::printf("most: tensors %.1f MiB, resident set %.1f MiB, %.2f of the bound\n\n",
              mebibytes(static_cast<double>(most_live)), mebibytes(static_cast<double>(most)),
              ratio);
  return ratio <= 1.1;
}

bool run(int seconds) {
  const auto path = write_lines();
  const auto lines =
      read_text({path}).repeat(0).decode({numbers({1})}, {.decoders = 4, .decoded_bytes = 4 << 20});
  const auto fixed = [](const Element&) -> Element { return {Tensor(DType::float32, {4096})}; };
  const auto varying = [](const Element& element) -> Element {
    return {Tensor(DType::float32, {1 + static_cast<std::int64_t>(element[0].item())})};
  };
  const auto half = std::chrono::seconds(seconds) / 2;
  const bool one = soak("elements of 16 KiB",
                        lines.map(fixed, {{DType::float32, {4096}}})
                            .shuffle({.capacity = 4'000, .min_after_dequeue = 1'000})
                            .batch(64, Remainder::drop),
                        half);
  const bool two = soak("elements of 4 bytes to 39 KiB, in buckets",
                        lines.map(varying, {{DType::float32, {-1}}})
                            .buffer({.capacity = 10'000, .capacity_bytes = 64 << 20})
                            .bucket_by_length({.boundaries = {1'000, 4'000},
                                               .batch_sizes = {256, 64, 16},
                                               .padding = {.batch_bytes = 4 << 20}},
                                              Remainder::drop),
                        half);
  std::filesystem::remove(path);
  return one && two;
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) try {
  constexpr int kSeconds = 20;
  const int seconds = argc > 1 ? std::atoi(argv[1]) : kSeconds;
  const bool within = troupe::run(std::max(2, seconds));
  std::printf("%s\n", within ? "within the bound" : "ABOVE THE BOUND");
  return within ? 0 : 1;
} catch (const troupe::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
