#include "troupe/devices/executor.h"

#include <algorithm>
#include <new>

#include "troupe/devices/intra_op_pool.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

/// The time that all threads together have worked for this one.
class Stopwatch {
 public:
  std::chrono::nanoseconds elapsed() const {
    const auto borrowed = IntraOpPool::borrowed_time() - borrowed_;
    return std::chrono::steady_clock::now() - since_ + std::chrono::nanoseconds(borrowed);
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::int64_t borrowed_ = IntraOpPool::borrowed_time();
};

/// The exception in flight, with the node and the device that it comes from.
Error error_at(const Node& node, const std::string& where) {
  const auto at = text("node '", node.name, "' (", node.op->name, "): ");
  try {
    throw;
  } catch (const Error& error) {
    const std::string_view words = error.what();
    const bool named = words.substr(0, 6) == "node '";
    return {error.code(), text(where, ": ", named ? "" : at, words)};
  } catch (const std::bad_alloc&) {
    return {Code::resource_exhausted, text(where, ": ", at, "out of memory")};
  } catch (const std::exception& error) {
    return {Code::unknown, text(where, ": ", at, error.what())};
  } catch (...) {
    return {Code::unknown, text(where, ": ", at, "an exception that is not a std::exception")};
  }
}

}  // namespace

Executor::Executor(std::shared_ptr<const Program> program, std::vector<KernelPtr> kernels,
                   IntraOp& intra, std::string where)
    : workspace_(std::move(program), std::move(kernels)),
      intra_(intra),
      where_(std::move(where)),
      pending_(workspace_.program().steps().size()) {}

std::uint64_t Executor::begin(const TensorList& feeds, std::uint64_t seed) {
  workspace_.begin(feeds, seed);
  failed_.store(false, std::memory_order_relaxed);
  const auto& program = workspace_.program();
  if (program.parallel())
    for (std::size_t i = 0; i < pending_.size(); ++i)
      pending_[i].store(program.steps()[i].dependencies, std::memory_order_relaxed);
  const std::lock_guard guard(mutex_);
  working_ = 1;
  leader_away_ = false;
  busy_ = {};
  return ++run_;
}

bool Executor::lead(const Hooks& hooks) {
  keep_openmp_on_this_thread();
  if (!workspace_.program().streamed().empty()) stream(-1, hooks);
  if (workspace_.program().parallel()) return run_with_others(-1, true, hooks);
  run_in_order(hooks);
  return true;
}

bool Executor::help(std::uint64_t run, bool is_leader, const Hooks& hooks) {
  keep_openmp_on_this_thread();
  int step = -1;
  {
    const std::lock_guard guard(mutex_);
    if (run == run_ && working_ > 0) step = take_shared();
    if (step < 0) return false;
    ++working_;
  }
  return run_with_others(step, is_leader, hooks);
}

bool Executor::call_leader_back() {
  const std::lock_guard guard(mutex_);
  return std::exchange(leader_away_, false);
}

std::chrono::nanoseconds Executor::finish(TensorList& fetches) {
  const auto& results = workspace_.program().fetches();
  fetches.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    fetches[i] = error_ ? Tensor() : workspace_.value(results[i]);
  workspace_.end();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return busy_;
}

void Executor::run_in_order(const Hooks& hooks) {
  const Stopwatch watch;
  const auto count = static_cast<int>(pending_.size());
  const bool streams = !workspace_.program().streamed().empty();
  int step = 0;
  try {
    for (; step < count; ++step) {
      workspace_.run(step, intra_);
      if (streams && workspace_.program().steps()[step].streams) stream(step, hooks);
    }
  } catch (...) {
    fail_at(step);
  }
  busy_ = watch.elapsed();
}

bool Executor::run_with_others(int step, bool is_leader, const Hooks& hooks) {
  const Stopwatch watch;
  const auto& program = workspace_.program();
  thread_local std::vector<int> own;  // cheap steps that are ready
  thread_local std::vector<int> ready;
  own.clear();
  if (step < 0) step = distribute(program.sources(), own, hooks);
  while (true) {
    while (step >= 0 && !failed_.load(std::memory_order_relaxed)) {
      run_step(step, hooks);
      ready.clear();
      for (const auto next : program.steps()[step].successors)
        if (pending_[next].fetch_sub(1, std::memory_order_acq_rel) == 1) ready.push_back(next);
      step = distribute(ready, own, hooks);
    }
    const std::lock_guard guard(mutex_);
    step = take_shared();
    if (step >= 0) continue;
    busy_ += watch.elapsed();
    leader_away_ |= is_leader;
    return --working_ == 0;
  }
}

int Executor::distribute(const std::vector<int>& candidates, std::vector<int>& own,
                         const Hooks& hooks) {
  const auto& steps = workspace_.program().steps();
  // Those that come first in the order are taken first.
  for (auto i = candidates.rbegin(); i != candidates.rend(); ++i)
    if (!steps[*i].heavy) own.push_back(*i);
  bool keep = own.empty();
  int next = -1;
  for (const auto step : candidates) {
    if (!steps[step].heavy) continue;
    if (keep)
      next = step;
    else
      share(step, hooks);
    keep = false;
  }
  if (next < 0 && !own.empty()) {
    next = own.back();
    own.pop_back();
  }
  return next;
}

void Executor::run_step(int step, const Hooks& hooks) {
  try {
    workspace_.run(step, intra_);
    if (workspace_.program().steps()[step].streams) stream(step, hooks);
  } catch (...) {
    fail_at(step);
  }
}

int Executor::take_shared() {
  if (shared_.empty()) return -1;
  const auto first = std::ranges::min_element(shared_);
  const auto step = *first;
  *first = shared_.back();
  shared_.pop_back();
  return step;
}

void Executor::share(int step, const Hooks& hooks) {
  {
    const std::lock_guard guard(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return;
    shared_.push_back(step);
  }
  hooks.invite();
}

void Executor::stream(int step, const Hooks& hooks) {
  const auto& streamed = workspace_.program().streamed();
  for (std::size_t i = 0; i < streamed.size(); ++i)
    if (streamed[i].step == step)
      hooks.stream(static_cast<std::uint32_t>(i), workspace_.value(streamed[i]));
}

void Executor::fail_at(int step) {
  const auto error = error_at(*workspace_.program().steps()[step].node, where_);
  const std::lock_guard guard(mutex_);
  if (!failed_.exchange(true)) error_ = std::make_exception_ptr(error);
  shared_.clear();
}

}  // namespace troupe
