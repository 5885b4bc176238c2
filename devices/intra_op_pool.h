#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "troupe/ops/parallel.h"

namespace Eigen {
struct ThreadPoolDevice;
}

namespace troupe {

/// The threads that one CPU device uses inside its ops.
///
/// Whoever is free takes the next shard, the caller included: a pool thread that
/// wakes late, or is busy for somebody else, costs nothing. Several threads may
/// call run() at the same time, and a shard may call it again. A pool thread
/// without work looks for some for a few tens of microseconds and then parks.
class IntraOpPool final : public IntraOp {
 public:
  /// `threads` counts the caller of run(): threads - 1 are started, called
  /// "<name>-1", "<name>-2", ... (Linux keeps 15 characters). Each of them has
  /// OpenMP limited to itself. Throws invalid_argument below 1.
  IntraOpPool(const std::string& name, int threads);
  ~IntraOpPool() override;

  int threads() const override { return threads_; }
  void run(int shards, FunctionRef<void(int)> fn) override;

  /// The same threads for Eigen's tensor expressions
  /// (unsupported/Eigen/CXX11/Tensor with EIGEN_USE_THREADS).
  Eigen::ThreadPoolDevice& eigen();

  /// What other threads have worked for the calling thread inside run(), less
  /// what it has waited for them there; in nanoseconds, since the thread began.
  static std::int64_t borrowed_time();

 private:
  class Threads;
  class Job;
  class OpenJobs;

  int threads_;
  std::unique_ptr<OpenJobs> jobs_;
  std::unique_ptr<Threads> pool_;  // ends before the jobs that it may still look for
  std::unique_ptr<Eigen::ThreadPoolDevice> eigen_;
};

/// Tells OpenMP, on the calling thread, to stay on it: oneDNN's primitives are
/// made and run by many threads here, each for its own shard. Cheap to repeat.
void keep_openmp_on_this_thread();

}  // namespace troupe
