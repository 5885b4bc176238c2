// What a checkpoint of a gigabyte costs the steps that are made while it is written.
//
//   checkpoint_benchmark                    # 1024 MiB of weights and momentum, 40 steps
//   checkpoint_benchmark --mebibytes 128
//
// Trains a wide layer with its data in the checkpoint, too, and prints the median of the steps
// during which nothing was written, the longest step in which a checkpoint was being made, and
// their ratio: 1 means that nobody noticed, below 2 that less than a step was lost.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "median.h"
#include "troupe/actors/training/training.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kInputs = 4096;
constexpr std::int64_t kRows = 16;

ModelFunction wide_layer(std::int64_t units) {
  return [units](bool) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto x = placeholder(*m.graph, "x", DType::float32, {-1, kInputs});
    m.inputs = {x};
    m.loss = reduce_mean(nn::dense(x, units, {.name = "wide"}));
    return m;
  };
}

Batches rows(const std::string& file) {
  const auto widen = [](const Element& e) {
    Tensor x(DType::float32, {kInputs});
    x.write<float>()[0] = static_cast<float>(e[0].at(0));
    return Element{x};
  };
  return read_text({file})
      .repeat(0)
      .decode({numbers({})}, {.decoders = 1})
      .map(widen, {{DType::float32, {kInputs}}})
      .shuffle({.capacity = 512, .min_after_dequeue = 256})
      .batch(kRows, Remainder::drop);
}

struct Steps {
  std::vector<double> seconds;           ///< of each
  std::vector<std::size_t> checkpoints;  ///< how many were on disk when it ended
};

Steps train(std::int64_t mebibytes, std::uint64_t steps, std::uint64_t every,
            const std::string& directory) {
  TrainingOptions o;
  o.optimizer = optim::momentum(0.9);
  o.learning_rate = 1e-6;
  o.threads = {2, 2};
  o.max_steps = steps;
  o.checkpoints.directory = directory;
  o.checkpoints.every = every;
  o.checkpoints.keep = 1;
  o.progress_interval = std::chrono::milliseconds(1);
  Steps result;
  auto last = Clock::now();
  std::uint64_t step = 0;
  std::size_t written = 0;
  std::string newest;
  o.progress = [&](const Progress& p) {
    if (p.checkpoint != newest) {
      newest = p.checkpoint;
      ++written;
    }
    if (p.step == step) return;
    const auto now = Clock::now();
    const double each =
        std::chrono::duration<double>(now - last).count() / static_cast<double>(p.step - step);
    for (; step < p.step; ++step) {
      result.seconds.push_back(each);
      result.checkpoints.push_back(written);
    }
    last = now;
  };
  // Momentum takes as much as the weights.
  const auto units = mebibytes * (1 << 20) / 2 / 4 / kInputs;
  const auto file = directory + ".txt";
  {
    std::ofstream numbers(file);
    for (int i = 0; i < 1024; ++i) numbers << i << '\n';
  }
  Training training(wide_layer(units), rows(file), o);
  const auto outcome = training.run();
  if (outcome.ending == Ending::failed) std::fprintf(stderr, "%s\n", outcome.message.c_str());
  return result;
}

int run(int argc, char** argv) {
  std::int64_t mebibytes = 1024;
  std::uint64_t steps = 40;
  std::uint64_t every = 20;
  std::string directory = "checkpoint_benchmark.tmp";
  CLI::App app("What a checkpoint costs the steps that are made meanwhile");
  app.add_option("--mebibytes", mebibytes, "Of weights and momentum")->capture_default_str();
  app.add_option("--steps", steps)->capture_default_str();
  app.add_option("--every", every, "Steps between checkpoints")->capture_default_str();
  app.add_option("--directory", directory, "For the checkpoints; removed")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const auto measured = train(mebibytes, steps, every, directory);
  std::filesystem::remove_all(directory);
  std::filesystem::remove(directory + ".txt");
  std::vector<double> quiet;
  double longest = 0;
  for (std::size_t i = 1; i < measured.seconds.size(); ++i) {
    // A checkpoint is begun with a step, and is on its way until one more is on disk.
    const bool writes = measured.checkpoints[i] < (i + 1) / every;
    if (writes)
      longest = std::max(longest, measured.seconds[i]);
    else
      quiet.push_back(measured.seconds[i]);
  }
  if (quiet.empty() || longest == 0) {
    std::puts("no step was made beside a checkpoint: more --steps, or fewer --mebibytes");
    return 1;
  }
  const auto usual = troupe::median(quiet);
  std::printf("%lld MiB: a step takes %.1f ms, the longest beside a checkpoint %.1f ms: %.2f\n",
              static_cast<long long>(mebibytes), usual * 1e3, longest * 1e3, longest / usual);
  return 0;
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) { return troupe::run(argc, argv); }
