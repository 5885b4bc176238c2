#include "troupe/devices/part.h"

#include <gmock/gmock.h>

#include "support/actor_test.h"
#include "support/test_ops.h"
#include "troupe/devices/cpu_device.h"
#include "troupe/ops/device_scope.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A part with x and what arrives over its one edge, which it adds up; and whoever it
/// sends edges to.
class PartTest : public test::ActorTest {
 protected:
  PartTest() {
    test::TestOps::add();
    const auto graph = std::make_shared<Graph>();
    Output sum;
    const auto x = placeholder(*graph, "x", DType::float32, {});
    Output far;
    {
      const DeviceScope scope(*graph, "/cpu:1");
      far = placeholder(*graph, "far", DType::float32, {});
    }
    {
      const DeviceScope scope(*graph, "/cpu:0");
      const auto arriving = graph->add("test_fail", {identity(far)}).output(0);
      sum = named("sum", x + arriving);
    }
    const DeviceScope scope(*graph, "/cpu:1");
    named("beyond", sum * 2.0);
    graph->finish();
    auto cut = partition(select_subgraph({graph, {"x", "far"}, {"sum", "beyond"}, {}, {}}),
                         place(*graph, cpu_devices(2)));
    edge = cut.parts.at(1).slots.at(0).edges.at(0).slot;
    out = cut.parts.at(0).slots.at(cut.parts.at(0).fragments.at(0).outputs.at(0)).edges.at(0).slot;
    member = spawn(part, PartOptions{std::move(cut.parts.at(0)), device, "/device:CPU:0"});
    const auto answer = ask<caf::ok_atom>(member, load_atom_v, std::vector<EdgeSink>{other, other});
    EXPECT_TRUE(answer->value) << answer->words();
  }

  EdgeSink::behavior_type recorder() {
    return {[this](edge_atom, std::uint64_t step, std::uint32_t slot, const Tensor& value) {
      EXPECT_EQ(slot, out);
      sent.emplace_back(step, value.item());
    }};
  }
  auto run(std::uint64_t step, float x) {
    return ask<RunResult>(member, run_atom_v, step, std::uint64_t{0}, TensorList{Tensor::scalar(x)},
                          OutputSink(), std::uint64_t{0});
  }
  void arrive(std::uint64_t step, float value) {
    caf::anon_send(member, edge_atom_v, step, edge, Tensor::scalar(value));
    settle();
  }
  void cancel(std::uint64_t step) {
    caf::anon_send(member, cancel_atom_v, step);
    settle();
  }
  PartStatus status() { return *ask<PartStatus>(member, status_atom_v)->value; }
  void expect_nothing_left() {
    EXPECT_EQ(status().steps, 0u);
    EXPECT_EQ(status().values, 0u);
  }

  const Device device = spawn(cpu_device, CpuDeviceOptions{"/device:CPU:0", 1, 1});
  const EdgeSink other = spawn([this] { return recorder(); });
  std::uint32_t edge = 0, out = 0;
  std::vector<std::pair<std::uint64_t, double>> sent;
  Part member;
};

TEST_F(PartTest, RunsAFragmentWhenItsInputsAreThere) {
  const auto answer = run(1, 3);
  EXPECT_TRUE(answer->pending());
  EXPECT_EQ(status().steps, 1u);
  EXPECT_EQ(status().values, 1u);
  arrive(1, 4);
  ASSERT_TRUE(answer->value) << answer->words();
  EXPECT_EQ(answer->value->fetches[0].item(), 7);
  EXPECT_THAT(sent, ElementsAre(std::pair(std::uint64_t{1}, 7.0)));
  expect_nothing_left();
}

TEST_F(PartTest, KeepsEdgesThatComeBeforeTheirStep) {
  arrive(2, 4);
  EXPECT_EQ(status().values, 1u);
  const auto first = run(1, 1);
  EXPECT_TRUE(first->pending()) << "that was another step's";
  const auto second = run(2, 3);
  ASSERT_TRUE(second->value) << second->words();
  EXPECT_EQ(second->value->fetches[0].item(), 7);
  arrive(1, 1);
  EXPECT_TRUE(first->value);
  expect_nothing_left();
}

TEST_F(PartTest, LetsStepsGoOnAtTheSameTime) {
  std::vector<std::shared_ptr<test::Answer<RunResult>>> answers;
  for (std::uint64_t step = 1; step <= 5; ++step) answers.push_back(run(step, float(step)));
  EXPECT_EQ(status().steps, 5u);
  for (std::uint64_t step = 5; step >= 1; --step) arrive(step, 10);
  for (std::uint64_t step = 1; step <= 5; ++step)
    EXPECT_EQ(answers[step - 1]->value->fetches[0].item(), 10.0 + static_cast<double>(step));
  expect_nothing_left();
}

TEST_F(PartTest, ForgetsAStepThatFails) {
  const auto answer = run(1, 3);
  arrive(1, -4);
  EXPECT_EQ(answer->words(),
            "out of range: /device:CPU:0: node 'test_fail' (test_fail): told to "
            "fail");
  EXPECT_TRUE(sent.empty());
  expect_nothing_left();
  const auto next = run(2, 3);
  arrive(2, 4);
  EXPECT_TRUE(next->value);
}

TEST_F(PartTest, GivesUpAStepAndDropsWhatStillComesForIt) {
  const auto answer = run(1, 3);
  cancel(1);
  EXPECT_EQ(answer->words(), "cancelled: /device:CPU:0: the step was given up");
  expect_nothing_left();
  arrive(1, 4);
  expect_nothing_left();
  EXPECT_TRUE(sent.empty());
  cancel(1);
}

TEST_F(PartTest, ForgetsEdgesThatCameEarlyForAStepThatFails) {
  arrive(1, -4);
  EXPECT_EQ(code_of(run(1, 3)->fault), Code::out_of_range);
  expect_nothing_left();
}

TEST_F(PartTest, NamesADeviceThatIsGone) {
  const auto answer = run(1, 3);
  kill(caf::actor_cast<caf::actor>(device));
  arrive(1, 4);
  EXPECT_THAT(answer->words(), HasSubstr("unavailable: /device:CPU:0: the device is gone"));
  expect_nothing_left();
}

TEST_F(PartTest, AnswersAndUnloadsWhenItEnds) {
  const auto answer = run(1, 3);
  EXPECT_EQ(ask<DeviceStatus>(device, status_atom_v)->value->fragments, 1u);
  kill(caf::actor_cast<caf::actor>(member));
  EXPECT_EQ(code_of(answer->fault), Code::unavailable);
  EXPECT_EQ(ask<DeviceStatus>(device, status_atom_v)->value->fragments, 0u);
}

}  // namespace
}  // namespace troupe
