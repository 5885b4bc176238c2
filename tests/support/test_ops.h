#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "troupe/ops/catalog.h"
#include "troupe/ops/op.h"

namespace troupe::test {

/// Where threads wait for one another, but not for ever.
class Meeting {
 public:
  /// True once `count` threads are here; false when they do not come in time.
  bool attend(int count) {
    std::unique_lock lock(mutex_);
    const auto all = ++here_;
    everybody_.notify_all();
    return all >= count ||
           everybody_.wait_for(lock, std::chrono::seconds(30), [&] { return here_ >= count; });
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    here_ = 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable everybody_;
  int here_ = 0;
};

inline Meeting& meeting() {
  static Meeting only;
  return only;
}

/// Ops that tests of devices need, registered once:
///   test_copy   y = x
///   test_meet   y = x, when `count` kernels have met at meeting(); fails otherwise. Heavy.
///   test_fail   throws Error(out_of_range, "told to fail") when x[0] is negative; y = x
///   test_null   y = x of one value, the least that a kernel can do
class TestOps {
 public:
  static void add() { static const TestOps once; }

 private:
  static void same_shape(InferContext& c) { c.output(c.input(0)); }

  static void copy(const Run& run, std::size_t bytes) {
    if (run.inputs[0] != run.outputs[0]) std::memcpy(run.outputs[0], run.inputs[0], bytes);
  }
  static std::size_t bytes_of(const KernelInit& init) {
    return static_cast<std::size_t>(init.outputs[0].shape.volume()) * size_of(init.dtype());
  }

  static KernelPtr make_copy(const KernelInit& init) {
    return make_kernel([bytes = bytes_of(init)](const Run& run) { copy(run, bytes); });
  }
  static KernelPtr make_meet(const KernelInit& init) {
    const auto count = static_cast<int>(init.attributes().get<std::int64_t>("count"));
    return make_kernel(
        [bytes = bytes_of(init), count](const Run& run) {
          if (!meeting().attend(count)) fail(Code::deadline_exceeded, "nobody came");
          copy(run, bytes);
        },
        1e9);
  }
  static KernelPtr make_fail(const KernelInit& init) {
    return make_kernel([bytes = bytes_of(init)](const Run& run) {
      if (run.in<float>(0)[0] < 0) fail(Code::out_of_range, "told to fail");
      copy(run, bytes);
    });
  }
  static KernelPtr make_null(const KernelInit&) {
    return make_kernel([](const Run& run) { run.out<float>()[0] = run.in<float>(0)[0]; }, 1);
  }

  TestOps() {
    static const auto op = [](std::string_view name, KernelPtr (*cpu)(const KernelInit&)) {
      return OpDef{.name = name, .min_inputs = 1, .max_inputs = 1, .infer = same_shape, .cpu = cpu};
    };
    static const OpDef ops[] = {op("test_copy", make_copy), op("test_meet", make_meet),
                                op("test_fail", make_fail), op("test_null", make_null)};
    for (const auto& def : ops) register_op(def);
  }
};

}  // namespace troupe::test
