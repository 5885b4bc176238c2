#pragma once

#include <exception>
#include <thread>
#include <vector>

#include "troupe/ops/parallel.h"

namespace troupe::test {

/// A thread for every shard: slow, but as parallel as a device can be.
class Threads final : public IntraOp {
 public:
  explicit Threads(int threads) : threads_(threads) {}

  int threads() const override { return threads_; }
  void run(int shards, FunctionRef<void(int)> fn) override {
    std::vector<std::exception_ptr> errors(shards);
    std::vector<std::thread> running;
    for (int i = 0; i < shards; ++i)
      running.emplace_back([&, i] {
        try {
          fn(i);
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
    for (auto& thread : running) thread.join();
    for (const auto& error : errors)
      if (error) std::rethrow_exception(error);
  }

 private:
  int threads_;
};

}  // namespace troupe::test
