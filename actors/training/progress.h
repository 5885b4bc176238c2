#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

/// How a training run stands; told once in a while.
struct Progress {
  std::uint64_t step = 0;          ///< updates of the parameters so far
  std::uint64_t max_steps = 0;     ///< 0 when it is not known
  double epoch = 0;                ///< passes over the data so far; 0 when their size is not known
  std::int64_t examples = 0;       ///< trained on so far
  std::vector<std::string> names;  ///< "loss", then the metrics
  std::vector<double> training;    ///< of the last complete step
  std::vector<double> evaluation;  ///< of the last evaluation; empty before the first
  double examples_per_second = 0;  ///< since the last report
  double seconds_left = -1;        ///< -1 when it is not known
  double queue_fill = 0;           ///< elements in the example queue, as a share of its capacity
  double cpu_use = 0;              ///< cores that this process kept busy since the last report
  double learning_rate = 0;
  std::uint64_t staleness = 0;
  double waiting_for_data = 0;  ///< share of the replicas' time since the last report
  std::string checkpoint;       ///< the last one on disk
  bool last = false;            ///< the run has ended
};
using ProgressListener = std::function<void(const Progress&)>;

/// Hears of what goes on well, but should be known: "step 17: replica 2 has kept ...".
using EventListener = std::function<void(const std::string&)>;

/// CPU time of this process so far, user and system, all threads.
std::chrono::nanoseconds process_cpu_time();

}  // namespace troupe
