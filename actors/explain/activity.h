#pragma once

#include <string>
#include <vector>

#include "troupe/actors/explain/sample.h"

namespace troupe {

/// What a shard was asked to do between two samples; numbers are a second.
struct ShardLoad {
  double pushes = 0;          ///< parts of gradient sets
  double pulls = 0;           ///< of parameters or of rows
  double pushed_rows = 0;     ///< of sparse gradients
  double pulled_rows = 0;     ///< of tables
  std::uint64_t bytes = 0;    ///< of values and slots, at the end
  std::uint64_t version = 0;  ///< at the end
  std::int64_t replicas = 0;  ///< that take part, at the end
  std::int64_t backups = 0;   ///< copies that have everything, at the end
};

/// What one actor did between two samples. Shares are of the time between them, 0 to 1.
struct NodeActivity {
  bool known = false;              ///< it has answered before and at the end
  double records = 0;              ///< a second; elements that left, for a queue
  double bytes = 0;                ///< a second; 0 if not known
  double busy = 0;                 ///< for a device and an evaluator: cores kept busy in kernels
  double waiting_in = 0;           ///< for a queue: a dequeue was waiting
  double waiting_out = 0;          ///< for a queue: an enqueue was waiting
  double idle = 0;                 ///< not started, or at its end
  double silent = 0;               ///< seconds without an answer: it is in the middle of something
  std::int64_t size = 0;           ///< of a queue, at the end
  std::int64_t growth = 0;         ///< of a queue's size
  std::int64_t floor = 0;          ///< of a queue
  std::int64_t capacity = 0;       ///< of a queue; below 0 for no bound
  std::uint64_t bytes_inside = 0;  ///< a queue, at the end
  std::uint64_t capacity_bytes = 0;  ///< of a queue; 0 for no bound of its own
  bool closed = false;               ///< a queue, at the end
  ShardLoad load;                    ///< of a shard
};

/// What one thread did between two samples.
struct ThreadActivity {
  int id = 0;
  std::string name;
  double cpu = 0;    ///< share of the time on a CPU
  double ready = 0;  ///< share of the time without a CPU that it could have used
};

/// What a topology did between two samples.
struct Activity {
  double seconds = 0;
  double cpu = 0;     ///< cores that this process kept busy
  double ready = 0;   ///< more cores that its threads could have used at once, had they been free
  double others = 0;  ///< cores that other programs kept busy, of those that this one may use
  std::vector<NodeActivity> nodes;
  std::vector<ThreadActivity> threads;
  std::vector<std::pair<int, double>> cores;  ///< number and busy share, whoever used it
};

/// Differences of counters as rates and shares. An actor that has been silent
/// since its last answer counts as busy for that time.
Activity activity_between(const Sample& before, const Sample& after);

}  // namespace troupe
