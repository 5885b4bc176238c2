#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "troupe/devices/executor.h"
#include "troupe/devices/subgraph.h"

namespace troupe {

/// A FragmentSpec on one CPU device: compiled at the first run for each set of
/// shapes that is fed, and again for each run beyond those that are going on.
/// May be used from several threads.
class Fragment {
 public:
  /// How many sets of shapes stay compiled; the one that was used least recently goes.
  static constexpr std::size_t kMostSignatures = 16;

  /// `device` names it in errors. Throws as select_subgraph().
  Fragment(const FragmentSpec& spec, const ProgramOptions& options, std::shared_ptr<IntraOp> intra,
           std::string device);

  /// An executor for these feeds, for one run; give it back with release().
  /// Throws invalid_argument, naming the placeholder, for feeds that do not fit.
  std::shared_ptr<Executor> acquire(const TensorList& feeds);
  /// The same, but only if there is one that has run, alone and within `bound`.
  std::shared_ptr<Executor> acquire_quick(const TensorList& feeds, std::chrono::nanoseconds bound);
  void release(std::shared_ptr<Executor> executor);

  /// Planned memory of all that is compiled.
  std::uint64_t arena_bytes() const { return arena_bytes_.load(std::memory_order_relaxed); }

  /// What is compiled, for people: feeds, steps, fusions, memory.
  std::string describe() const;

 private:
  struct Compiled {
    std::vector<TensorSpec> fed;
    std::shared_ptr<const Program> program;
    std::vector<std::shared_ptr<Executor>> idle;
    std::uint64_t last_used = 0;
  };

  Compiled* find(const TensorList& feeds);
  Compiled* find(const Program& program);
  std::shared_ptr<Executor> make(std::shared_ptr<const Program> program,
                                 std::vector<KernelPtr> kernels);
  void remember(std::vector<TensorSpec> fed, std::shared_ptr<const Program> program);
  void forget(const Executor& executor);

  const Subgraph subgraph_;
  const ProgramOptions options_;
  const std::shared_ptr<IntraOp> intra_;
  const std::string device_;
  std::atomic<std::uint64_t> arena_bytes_{0};

  mutable std::mutex mutex_;  // for what follows
  std::vector<Compiled> compiled_;
  std::uint64_t uses_ = 0;
};

}  // namespace troupe
