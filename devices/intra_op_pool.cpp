#define EIGEN_USE_THREADS
#include "troupe/devices/intra_op_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <unsupported/Eigen/CXX11/Tensor>
#include <vector>

#include "troupe/ops/error.h"

extern "C" void omp_set_num_threads(int);

namespace troupe {
namespace {

// What the caller spins at the end of run() before it parks: a few microseconds,
// less than waking it again would cost.
constexpr int kSpins = 200;

thread_local std::int64_t borrowed = 0;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// How Eigen's pool makes its threads and keeps its tasks: by value, so that a
/// small task costs no allocation.
class Environment {
 public:
  struct Task {
    std::function<void()> f;
  };
  class EnvThread {
   public:
    explicit EnvThread(std::function<void()> f) : thread_(std::move(f)) {}
    ~EnvThread() { thread_.join(); }
    void OnCancel() {}

   private:
    std::thread thread_;
  };

  explicit Environment(std::string name) : name_(std::move(name)) {}

  EnvThread* CreateThread(std::function<void()> f) {
    return new EnvThread([f = std::move(f), name = text(name_, '-', ++started_)] {
      pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
      keep_openmp_on_this_thread();
      f();
    });
  }
  Task CreateTask(std::function<void()> f) { return {std::move(f)}; }
  void ExecuteTask(const Task& task) { task.f(); }

 private:
  std::string name_;
  int started_ = 0;
};

}  // namespace

void keep_openmp_on_this_thread() {
  thread_local bool kept = false;
  if (kept) return;
  omp_set_num_threads(1);
  kept = true;
}

/// Eigen's pool, or, without threads, the caller.
class IntraOpPool::Threads final : public Eigen::ThreadPoolInterface {
 public:
  Threads(const std::string& name, int count) {
    if (count > 0)
      pool_ = std::make_unique<Eigen::ThreadPoolTempl<Environment>>(count, Environment(name));
  }
  void Schedule(std::function<void()> fn) override {
    if (pool_)
      pool_->Schedule(std::move(fn));
    else
      fn();
  }
  void Cancel() override {}
  int NumThreads() const override { return pool_ ? pool_->NumThreads() : 1; }
  int CurrentThreadId() const override { return pool_ ? pool_->CurrentThreadId() : -1; }

 private:
  std::unique_ptr<Eigen::ThreadPoolTempl<Environment>> pool_;
};

/// One call of run(), on the stack of the caller.
class IntraOpPool::Job {
 public:
  Job(int shards, FunctionRef<void(int)>& fn) : fn_(fn), shards_(shards) {}

  bool open() const { return next_.load(std::memory_order_relaxed) < shards_; }

  /// Runs shards until there are none left to take.
  void work() {
    for (int i = next_.fetch_add(1); i < shards_; i = next_.fetch_add(1)) {
      if (failed_.load(std::memory_order_relaxed)) continue;
      try {
        fn_(i);
      } catch (...) {
        if (!failed_.exchange(true)) error_ = std::current_exception();
      }
    }
  }
  /// The same for another thread, on the clock.
  void help() {
    const auto since = now();
    work();
    helped_.fetch_add(now() - since, std::memory_order_relaxed);
  }

  // Helpers hold the job while they may look at it; the caller waits for them.
  void hold() { helpers_.fetch_add(1, std::memory_order_relaxed); }
  void let_go() { helpers_.fetch_sub(1); }
  bool held() const { return helpers_.load() > 0; }

  std::int64_t helped() const { return helped_.load(std::memory_order_relaxed); }
  std::exception_ptr error() { return std::move(error_); }

 private:
  FunctionRef<void(int)>& fn_;
  const int shards_;
  std::atomic<int> next_{0};
  std::atomic<int> helpers_{0};
  std::atomic<std::int64_t> helped_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

/// The jobs that could use a thread.
class IntraOpPool::OpenJobs {
 public:
  explicit OpenJobs(int threads) : threads_(threads) { open_.reserve(64); }

  /// Returns how many threads to wake: no more than are not on their way already.
  int add(Job& job, int wanted) {
    const std::lock_guard guard(mutex_);
    open_.push_back(&job);
    const auto woken = std::min(wanted, threads_ - waking_);
    waking_ += woken;
    return woken;
  }

  void remove(Job& job) {
    const std::lock_guard guard(mutex_);
    std::erase(open_, &job);
  }

  /// What a thread does that has been woken.
  void help() {
    {
      const std::lock_guard guard(mutex_);
      --waking_;
    }
    while (auto* job = hold_one()) {
      job->help();
      job->let_go();
      // The job may be gone by now; whoever waits for one looks again.
      if (waiting_.load() > 0) {
        { const std::lock_guard guard(mutex_); }
        changed_.notify_all();
      }
    }
  }

  void wait_for_helpers(const Job& job) {
    for (int i = 0; i < kSpins && job.held(); ++i) relax();
    if (job.held()) {
      const auto since = now();
      ++waiting_;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !job.held(); });
      --waiting_;
      borrowed -= now() - since;
    }
    borrowed += job.helped();
  }

 private:
  Job* hold_one() {
    const std::lock_guard guard(mutex_);
    const auto found = std::ranges::find_if(open_, [](const Job* job) { return job->open(); });
    if (found == open_.end()) return nullptr;
    (*found)->hold();
    return *found;
  }

  const int threads_;  // of the pool
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> waiting_{0};  // callers
  std::vector<Job*> open_;
  int waking_ = 0;  // threads that will look at the jobs soon
};

IntraOpPool::IntraOpPool(const std::string& name, int threads) : threads_(threads) {
  if (threads < 1)
    fail(Code::invalid_argument, "intra_op must be at least 1 thread, but is ", threads);
  jobs_ = std::make_unique<OpenJobs>(threads - 1);
  pool_ = std::make_unique<Threads>(name, threads - 1);
  eigen_ = std::make_unique<Eigen::ThreadPoolDevice>(pool_.get(), threads);
}

IntraOpPool::~IntraOpPool() = default;

void IntraOpPool::run(int shards, FunctionRef<void(int)> fn) {
  const int helpers = std::min(shards, threads_) - 1;
  if (helpers <= 0) {
    for (int i = 0; i < shards; ++i) fn(i);
    return;
  }
  Job job(shards, fn);
  for (int wake = jobs_->add(job, helpers); wake > 0; --wake)
    pool_->Schedule([jobs = jobs_.get()] { jobs->help(); });
  job.work();
  jobs_->remove(job);
  jobs_->wait_for_helpers(job);
  if (const auto error = job.error()) std::rethrow_exception(error);
}

Eigen::ThreadPoolDevice& IntraOpPool::eigen() { return *eigen_; }

std::int64_t IntraOpPool::borrowed_time() { return borrowed; }

}  // namespace troupe
