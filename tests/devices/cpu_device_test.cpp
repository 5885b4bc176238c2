#include "troupe/devices/cpu_device.h"

#include <gmock/gmock.h>

#include "support/actor_test.h"
#include "support/test_ops.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CpuDeviceTest : public test::ActorTest {
 protected:
  CpuDeviceTest() { test::TestOps::add(); }

  FragmentId load(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                  const std::vector<std::string>& streamed = {}) {
    graph->finish();
    const auto answer =
        ask<FragmentId>(device, load_atom_v, FragmentSpec{graph, feeds, fetches, streamed, {}});
    EXPECT_TRUE(answer->value) << answer->words();
    return answer->value.value_or(0);
  }
  auto run(FragmentId id, const TensorList& feeds, std::uint64_t seed = 0) {
    return ask<RunResult>(device, run_atom_v, id, seed, feeds);
  }
  DeviceStatus status() { return *ask<DeviceStatus>(device, status_atom_v)->value; }
  static Tensor scalar(float value) { return Tensor::scalar(value); }

  GraphPtr graph = std::make_shared<Graph>();
  Output x = placeholder(*graph, "x", DType::float32, {});
  Device device = spawn(cpu_device, CpuDeviceOptions{"/device:CPU:0", 1, 2});
};

TEST_F(CpuDeviceTest, RunsALoadedFragment) {
  named("y", x * 2.0);
  const auto id = load({"x"}, {"y", "x"});
  for (float value : {1.f, 2.f, 3.f}) {
    const auto answer = run(id, {scalar(value)});
    ASSERT_TRUE(answer->value) << answer->words();
    EXPECT_EQ(answer->value->fetches[0].item(), 2 * value);
    EXPECT_EQ(answer->value->fetches[1].item(), value);
  }
}

TEST_F(CpuDeviceTest, FeedsAndAnswersWithoutACopy) {
  const auto id = load({"x"}, {"x"});
  const auto fed = scalar(1);
  const auto answer = run(id, {fed});
  ASSERT_TRUE(answer->value) << answer->words();
  EXPECT_EQ(answer->value->fetches[0].data(), fed.data());
}

TEST_F(CpuDeviceTest, AnswersWithTheWordsOfTheKernelThatFails) {
  named("checked", graph->add("test_fail", {x}).output(0));
  const auto id = load({"x"}, {"checked"});
  EXPECT_EQ(run(id, {scalar(-1)})->words(),
            "out of range: /device:CPU:0: node 'checked' (test_fail): told to fail");
  EXPECT_TRUE(run(id, {scalar(1)})->value);
  EXPECT_TRUE(run(id, {scalar(1)})->value) << "also without the hop to a runner";
  EXPECT_FALSE(run(id, {scalar(-1)})->value);
  EXPECT_TRUE(run(id, {scalar(1)})->value);
}

TEST_F(CpuDeviceTest, SaysWhatDoesNotFit) {
  named("y", x * 2.0);
  const auto id = load({"x"}, {"y"});
  EXPECT_EQ(run(id, {Tensor(DType::float64, {})})->words(),
            "invalid argument: placeholder 'x' takes float32 [], but was fed float64 []");
  EXPECT_EQ(run(id, {})->words(),
            "invalid argument: /device:CPU:0: the fragment takes 1 feeds (x), but got 0");
  EXPECT_EQ(run(id + 1, {scalar(1)})->words(),
            "invalid argument: /device:CPU:0: no fragment 2 is loaded");
  EXPECT_TRUE(run(id, {scalar(1)})->value);
}

TEST_F(CpuDeviceTest, RefusesAFragmentThatDoesNotFitItsGraph) {
  graph->finish();
  const auto answer =
      ask<FragmentId>(device, load_atom_v, FragmentSpec{graph, {"x"}, {"nothing"}, {}, {}});
  EXPECT_EQ(answer->words(), "not found: the graph has no node 'nothing'");
}

TEST_F(CpuDeviceTest, ForgetsAnUnloadedFragment) {
  const auto id = load({"x"}, {"x"});
  EXPECT_TRUE(ask<caf::ok_atom>(device, unload_atom_v, id)->value);
  EXPECT_EQ(code_of(run(id, {scalar(1)})->fault), Code::invalid_argument);
  EXPECT_EQ(code_of(ask<caf::ok_atom>(device, unload_atom_v, id)->fault), Code::invalid_argument);
  EXPECT_EQ(status().fragments, 0u);
}

TEST_F(CpuDeviceTest, CountsWhatItDoes) {
  named("y", exp(x * 2.0) + 1.0);
  const auto id = load({"x"}, {"y"});
  for (int i = 0; i < 3; ++i) run(id, {scalar(1)});
  const auto now = status();
  EXPECT_EQ(now.name, "/device:CPU:0");
  EXPECT_EQ(now.intra_op, 1);
  EXPECT_EQ(now.inter_op, 2);
  EXPECT_EQ(now.runs, 3u);
  EXPECT_EQ(now.fragments, 1u);
  EXPECT_GT(now.busy.count(), 0);
  EXPECT_GT(now.arena_bytes + 1, 0u);
}

TEST_F(CpuDeviceTest, StreamsOutputsToTheSinkBeforeTheAnswer) {
  named("y", x * 2.0);
  named("z", x * 3.0);
  const auto id = load({"x"}, {"y"}, {"z", "y"});
  std::vector<std::string> heard;
  const OutputSink sink = system.spawn([&heard]() -> OutputSink::behavior_type {
    return {[&heard](output_atom, std::uint64_t tag, std::uint32_t index, const Tensor& value) {
      heard.push_back(text(tag, ' ', index, ' ', value.item()));
    }};
  });
  for (std::uint64_t tag : {7, 8, 9}) {
    const auto answer =
        ask<RunResult>(device, run_atom_v, id, std::uint64_t{0}, TensorList{scalar(1)}, sink, tag);
    ASSERT_TRUE(answer->value) << answer->words();
    EXPECT_THAT(heard, testing::UnorderedElementsAre(text(tag, " 0 3"), text(tag, " 1 2")));
    heard.clear();
  }
}

TEST_F(CpuDeviceTest, LetsRequestsWaitForARunnerInTheirOrder) {
  named("y", x * 2.0);
  const auto id = load({"x"}, {"y"});
  std::vector<double> order;
  for (int i = 0; i < 10; ++i)
    system.spawn([&, i](caf::event_based_actor* self) {
      self->request(device, caf::infinite, run_atom_v, id, std::uint64_t{0},
                    TensorList{scalar(float(i))})
          .then([&order](const RunResult& result) { order.push_back(result.fetches[0].item()); });
    });
  settle();
  EXPECT_THAT(order, ElementsAre(0, 2, 4, 6, 8, 10, 12, 14, 16, 18));
}

TEST_F(CpuDeviceTest, TellsThoseWhoWaitWhenItStops) {
  named("y", x * 2.0);
  const auto id = load({"x"}, {"y"});
  std::vector<std::string> faults;
  int answers = 0;
  for (int i = 0; i < 5; ++i)
    system.spawn([&](caf::event_based_actor* self) {
      self->request(device, caf::infinite, run_atom_v, id, std::uint64_t{0}, TensorList{scalar(1)})
          .then([&answers](const RunResult&) { ++answers; },
                [&](const caf::error& error) { faults.push_back(render(error)); });
    });
  // The requests are in the device's mailbox; it hands two on and keeps three.
  for (int i = 0; i < 5; ++i) scheduler().run_once();
  scheduler().run_once();
  caf::anon_send_exit(device, caf::exit_reason::kill);
  settle();
  EXPECT_EQ(answers + static_cast<int>(faults.size()), 5);
  for (const auto& words : faults) EXPECT_THAT(words, HasSubstr("unavailable"));
  EXPECT_FALSE(faults.empty());
}

}  // namespace
}  // namespace troupe
