#define EIGEN_USE_THREADS
#include "troupe/devices/intra_op_pool.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
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

/// One call of run(): outlives it until the last pool thread that was asked for
/// help has looked, which may be long after.
class IntraOpPool::Job {
 public:
  void begin(int shards, FunctionRef<void(int)>& fn, int holders) {
    fn_ = &fn;
    shards_ = shards;
    next_.store(0, std::memory_order_relaxed);
    helped_.store(0, std::memory_order_relaxed);
    failed_.store(false, std::memory_order_relaxed);
    holders_.store(holders, std::memory_order_relaxed);
    left_.store(shards, std::memory_order_release);
  }

  /// Runs shards until there are none left to take.
  void work() {
    for (auto i = take(); i < shards_; i = take()) run(i, [] {});
  }

  /// The same on a pool thread, on the clock.
  void help() {
    auto i = take();
    if (i >= shards_) return;
    auto since = now();
    for (; i < shards_; i = take()) {
      run(i, [&] {
        const auto until = now();
        helped_.fetch_add(until - since, std::memory_order_relaxed);
        since = until;
      });
    }
  }

  void wait() {
    for (int i = 0; i < kSpins && left_.load(std::memory_order_acquire) > 0; ++i) relax();
    int left = left_.load(std::memory_order_acquire);
    if (left > 0) {
      const auto since = now();
      for (; left > 0; left = left_.load(std::memory_order_acquire)) left_.wait(left);
      borrowed -= now() - since;
    }
    borrowed += helped_.load(std::memory_order_relaxed);
  }

  std::exception_ptr take_error() { return std::exchange(error_, nullptr); }
  bool drop() { return holders_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  int take() {
    const auto i = next_.fetch_add(1, std::memory_order_relaxed);
    return i < shards_ ? static_cast<int>(i) : shards_;
  }
  /// `before_the_end` still counts: the caller may return as soon as the last shard has ended.
  template <class Fn>
  void run(int i, Fn before_the_end) {
    if (!failed_.load(std::memory_order_relaxed)) {
      try {
        (*fn_)(i);
      } catch (...) {
        if (!failed_.exchange(true)) error_ = std::current_exception();
      }
    }
    before_the_end();
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
  }

  FunctionRef<void(int)>* fn_ = nullptr;
  int shards_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<int> left_{0};
  std::atomic<std::int64_t> helped_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
  std::atomic<int> holders_{0};
};

struct IntraOpPool::Jobs {
  Job* take() {
    const std::lock_guard guard(mutex);
    if (!free.empty()) {
      auto* job = free.back();
      free.pop_back();
      return job;
    }
    all.push_back(std::make_unique<Job>());
    free.reserve(all.size());
    return all.back().get();
  }
  void drop(Job* job) {
    if (!job->drop()) return;
    const std::lock_guard guard(mutex);
    free.push_back(job);
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<Job>> all;
  std::vector<Job*> free;
};

IntraOpPool::IntraOpPool(const std::string& name, int threads) : threads_(threads) {
  if (threads < 1)
    fail(Code::invalid_argument, "intra_op must be at least 1 thread, but is ", threads);
  jobs_ = std::make_unique<Jobs>();
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
  auto* job = jobs_->take();
  job->begin(shards, fn, helpers + 1);
  for (int i = 0; i < helpers; ++i)
    pool_->Schedule([job, jobs = jobs_.get()] {
      job->help();
      jobs->drop(job);
    });
  job->work();
  job->wait();
  const auto error = job->take_error();
  jobs_->drop(job);
  if (error) std::rethrow_exception(error);
}

Eigen::ThreadPoolDevice& IntraOpPool::eigen() { return *eigen_; }

std::int64_t IntraOpPool::borrowed_time() { return borrowed; }

}  // namespace troupe
