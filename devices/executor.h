#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "troupe/devices/workspace.h"

namespace troupe {

/// Runs one program, once at a time.
///
/// One thread leads a run. When steps may run at the same time, others can help:
/// the leader, or whoever works on the run, asks for them with `invite`. A helper
/// that comes late, even after the run has ended, finds nothing to do; the run
/// does not wait for it. Whoever works runs the first successor that is ready
/// itself and leaves only heavy steps to others.
class Executor {
 public:
  /// What a thread that works on a run can do besides.
  struct Hooks {
    FunctionRef<void(std::uint32_t, const Tensor&)> stream;  ///< a streamed value is ready
    FunctionRef<void()> invite;                              ///< there is work for one more
  };

  /// `where` names the device in errors.
  Executor(std::shared_ptr<const Program> program, std::vector<KernelPtr> kernels, IntraOp& intra,
           std::string where);

  const Workspace& workspace() const { return workspace_; }

  /// Whether the last run took one thread and no longer than this.
  bool quick(std::chrono::nanoseconds bound) const {
    return run_ > 0 && !workspace_.program().parallel() && busy_ <= bound;
  }

  /// Begins a run. The feeds must stay where they are until finish(). Returns
  /// the number of the run, for those who are invited.
  std::uint64_t begin(const TensorList& feeds, std::uint64_t seed);

  /// Works until there is nothing left to take. True when the run has ended;
  /// otherwise helpers are still at work, and the call of help() that returns
  /// true ends it.
  bool lead(const Hooks& hooks);
  bool help(std::uint64_t run, bool is_leader, const Hooks& hooks);

  /// Whether the leader has left a run that goes on; from then on it is as free
  /// to help as anybody, and counts as called back.
  bool call_leader_back();

  /// After the end: fills in the fetches (in place when the list has their
  /// number) and returns the time in kernels. Throws the Error of the step that
  /// failed, which names it, its op and the device; the executor stays usable.
  std::chrono::nanoseconds finish(TensorList& fetches);

 private:
  void run_in_order(const Hooks& hooks);
  bool run_with_others(int step, bool is_leader, const Hooks& hooks);
  void run_step(int step, const Hooks& hooks);
  /// One of the steps that have become ready, or -1; the others are kept in
  /// `own` or, heavy ones, shared.
  int distribute(const std::vector<int>& candidates, std::vector<int>& own, const Hooks& hooks);
  int take_shared();
  void share(int step, const Hooks& hooks);
  void stream(int step, const Hooks& hooks);
  void fail_at(int step);

  Workspace workspace_;
  IntraOp& intra_;
  const std::string where_;
  std::vector<std::atomic<int>> pending_;  // by step: dependencies that have not run
  std::atomic<bool> failed_{false};

  std::mutex mutex_;  // for what follows
  std::uint64_t run_ = 0;
  int working_ = 0;  // threads inside
  bool leader_away_ = false;
  std::vector<int> shared_;  // heavy steps that are ready
  std::exception_ptr error_;
  std::chrono::nanoseconds busy_{0};
};

}  // namespace troupe
