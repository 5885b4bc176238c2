#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <caf/all.hpp>

#include "support/check_gradient.h"
#include "support/test_ops.h"
#include "support/thread_names.h"
#include "troupe/devices/cpu_device.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/convolution.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

/// Actors on threads, and one device among them.
class ThreadedDevice {
 public:
  explicit ThreadedDevice(ThreadBudget threads) : config_(threads), system_(config_) {
    const CpuDeviceOptions options{"/device:CPU:0", threads.intra_op, threads.inter_op};
    device_ = system_.spawn(cpu_device, options);
  }
  ~ThreadedDevice() { caf::anon_send_exit(device_, caf::exit_reason::user_shutdown); }

  RunResult run(const GraphPtr& graph, const std::string& feed, const Tensor& value,
                const OutputList& fetches, int repeats = 1) {
    graph->finish();
    FragmentSpec spec{graph, {feed}, {}, {}, {}};
    for (const auto& fetch : fetches) spec.fetches.push_back(fetch.name());
    const auto id = ask<FragmentId>(load_atom_v, spec);
    RunResult result;
    for (int i = 0; i < repeats; ++i)
      result = ask<RunResult>(run_atom_v, id, std::uint64_t{0}, TensorList{value});
    return result;
  }

 private:
  template <class T, class... Words>
  T ask(const Words&... words) {
    caf::scoped_actor self{system_};
    T answer{};
    self->request(device_, caf::infinite, words...)
        .receive([&](T& got) { answer = std::move(got); },
                 [](const caf::error& error) { ADD_FAILURE() << render(error); });
    return answer;
  }

  SystemConfig config_;
  caf::actor_system system_;
  Device device_;
};

class ThreadBudgetTest : public testing::Test {
 protected:
  ThreadBudgetTest() { test::TestOps::add(); }
};

/// What a process has besides: the main thread, CAF's clock, a sanitizer's own.
int threads_besides() {
  SystemConfig config({1, 1});
  const caf::actor_system system(config);
  return test::thread_count() - 1;
}

TEST_F(ThreadBudgetTest, IsWhatTheProcessHasWhateverRuns) {
  const auto besides = threads_besides();
  const auto images = test::random_values({8, 24, 24, 3}, 1, 0, 1, DType::float32);
  for (const int inter_op : {1, 2, 3}) {
    for (const int intra_op : {1, 2, 4}) {
      const auto graph = std::make_shared<Graph>();
      const auto x = placeholder(*graph, "x", DType::float32, {-1, 24, 24, 3});
      const auto filter = test::random_values({5, 5, 3, 64}, 2, 0, 1, DType::float32);
      const auto f = constant(*graph, filter);
      const auto y = relu(conv2d(x, f));
      const auto loss = reduce_mean(square(y));
      const auto gradient = gradients(loss, {f})[0].dense();
      ThreadedDevice device({inter_op, intra_op});
      device.run(graph, "x", images, {loss, gradient}, 3);
      EXPECT_EQ(test::thread_count(), besides + inter_op + intra_op - 1)
          << "inter_op " << inter_op << ", intra_op " << intra_op << ": "
          << testing::PrintToString(test::thread_names());
    }
  }
}

TEST_F(ThreadBudgetTest, GivesTheThreadsBackWithTheDevice) {
  const auto before = test::thread_count();
  { ThreadedDevice device({2, 3}); }
  EXPECT_EQ(test::thread_count_after_the_end(before), before);
}

TEST_F(ThreadBudgetTest, LetsIndependentHeavyBranchesOverlap) {
  const auto graph = std::make_shared<Graph>();
  const auto x = placeholder(*graph, "x", DType::float32, {1});
  const auto meet = [&](const Output& in) {
    return graph->add("test_meet", {in}, {{"count", 2}}).output(0);
  };
  const auto sum = meet(x) + meet(x + 1.0);
  ThreadedDevice device({2, 1});
  test::meeting().reset();
  const auto result = device.run(graph, "x", Tensor::of<float>({1}, {1}), {sum});
  ASSERT_EQ(result.fetches.size(), 1u);
  EXPECT_EQ(result.fetches[0].item(), 3);
}

TEST_F(ThreadBudgetTest, RunsThreeBranchesAtOnceAndJoinsThem) {
  const auto graph = std::make_shared<Graph>();
  const auto x = placeholder(*graph, "x", DType::float32, {1});
  const auto meet = [&](const Output& in, int count) {
    return graph->add("test_meet", {in}, {{"count", count}}).output(0);
  };
  // Three meet, then, after a join, three more: the count goes on.
  const auto joined = meet(x, 3) + meet(x + 1.0, 3) + meet(x + 2.0, 3);
  const auto again = meet(joined, 6) + meet(joined * 2.0, 6) + meet(joined * 3.0, 6);
  ThreadedDevice device({3, 1});
  for (int repeat = 0; repeat < 20; ++repeat) {
    test::meeting().reset();
    const auto result = device.run(graph, "x", Tensor::of<float>({1}, {1}), {again});
    ASSERT_EQ(result.fetches.size(), 1u);
    EXPECT_EQ(result.fetches[0].item(), 36);
  }
}

TEST_F(ThreadBudgetTest, GivesTheSameValuesHoweverManyRun) {
  const auto graph = std::make_shared<Graph>();
  const auto x = placeholder(*graph, "x", DType::float32, {-1, 64});
  auto h = x;
  OutputList parts;
  for (int i = 0; i < 6; ++i) {
    const auto w = constant(*graph, test::random_values({64, 64}, i, 0, 0.1, DType::float32));
    h = tanh(matmul(h, w));
    parts.push_back(reduce_mean(square(matmul(h, w))));
  }
  const auto loss = add_n(parts);
  const auto gradient = gradients(loss, {x})[0].dense();
  const auto feed = test::random_values({2048, 64}, 9, 0, 1, DType::float32);
  const auto run = [&](ThreadBudget threads) {
    ThreadedDevice device(threads);
    return device.run(graph, "x", feed, {loss, gradient}, 3).fetches;
  };
  const auto expected = run({1, 1});
  for (const ThreadBudget threads : {ThreadBudget{2, 1}, ThreadBudget{3, 2}, ThreadBudget{4, 1}}) {
    const auto got = run(threads);
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0].item(), expected[0].item());
    EXPECT_TRUE(same_bits(got[1], expected[1]));
  }
}

TEST_F(ThreadBudgetTest, EndsAFailedRunAndStaysUsable) {
  const auto graph = std::make_shared<Graph>();
  const auto x = placeholder(*graph, "x", DType::float32, {1});
  OutputList branches;
  for (int i = 0; i < 8; ++i) {
    const auto heavy = graph->add("test_meet", {x}, {{"count", 1}, {"branch", i}}).output(0);
    branches.push_back(graph->add("test_fail", {heavy}).output(0));
  }
  named("sum", add_n(branches));
  graph->finish();
  SystemConfig config({3, 1});
  caf::actor_system system(config);
  const Device device = system.spawn(cpu_device, CpuDeviceOptions{"/device:CPU:0", 1, 3});
  caf::scoped_actor self{system};
  FragmentId id = 0;
  self->request(device, caf::infinite, load_atom_v, FragmentSpec{graph, {"x"}, {"sum"}, {}, {}})
      .receive([&](FragmentId got) { id = got; }, [](const caf::error&) { FAIL(); });
  for (int i = 0; i < 50; ++i) {
    const bool fails = i % 2 == 0;
    self->request(device, caf::infinite, run_atom_v, id, std::uint64_t{0},
                  TensorList{Tensor::of<float>({1}, {fails ? -1.f : 1.f})})
        .receive(
            [&](const RunResult& result) {
              EXPECT_FALSE(fails);
              EXPECT_EQ(result.fetches[0].item(), 8);
            },
            [&](const caf::error& error) {
              EXPECT_TRUE(fails);
              EXPECT_THAT(render(error), testing::HasSubstr("(test_fail): told to fail"));
            });
  }
  caf::anon_send_exit(device, caf::exit_reason::user_shutdown);
}

}  // namespace
}  // namespace troupe
