#include "troupe/devices/device_group.h"

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
using testing::UnorderedElementsAre;

class DeviceGroupTest : public test::ActorTest {
 protected:
  DeviceGroupTest() { test::TestOps::add(); }

  Output on(int device, std::string_view op, const Output& x, const std::string& name) {
    const DeviceScope scope(*graph, text("/cpu:", device));
    return graph->add(op, {x}, {}, name).output(0);
  }
  /// x through devices 0, 1, 2 and back to 0, doubled on the way; it fails where x is negative.
  void build_a_chain() {
    auto value = on(0, "test_copy", x, "first") * 2.0;
    value = on(1, "test_fail", value, "second");
    on(0, "test_copy", on(2, "test_copy", value, "third"), "last");
  }
  FragmentId load(const std::vector<std::string>& fetches,
                  const std::vector<std::string>& streamed = {}) {
    graph->finish();
    const auto answer =
        ask<FragmentId>(group, load_atom_v, FragmentSpec{graph, {"x"}, fetches, streamed, {}});
    EXPECT_TRUE(answer->value) << answer->words();
    return answer->value.value_or(0);
  }
  auto run(FragmentId id, float value) {
    return ask<RunResult>(group, run_atom_v, id, std::uint64_t{0},
                          TensorList{Tensor::scalar(value)});
  }
  std::uint64_t fragments(int device) {
    return ask<DeviceStatus>(devices.members[device].device, status_atom_v)->value->fragments;
  }
  DeviceGroupOptions three() {
    DeviceGroupOptions options;
    for (const auto& name : cpu_devices(3))
      options.members.push_back({name, spawn(cpu_device, CpuDeviceOptions{name, 1, 1})});
    return options;
  }

  GraphPtr graph = std::make_shared<Graph>();
  Output x = placeholder(*graph, "x", DType::float32, {});
  const DeviceGroupOptions devices = three();
  const Device group = spawn(device_group, devices);
};

TEST_F(DeviceGroupTest, RunsAGraphOverItsDevices) {
  build_a_chain();
  const auto id = load({"last", "first", "x"});
  for (const float value : {1.f, 2.f, 3.f}) {
    const auto answer = run(id, value);
    ASSERT_TRUE(answer->value) << answer->words();
    EXPECT_EQ(answer->value->fetches[0].item(), 2 * value);
    EXPECT_EQ(answer->value->fetches[1].item(), value);
    EXPECT_EQ(answer->value->fetches[2].item(), value);
    EXPECT_GT(answer->value->busy.count(), 0);
  }
}

TEST_F(DeviceGroupTest, LeavesAFragmentOfOneDeviceToThatDevice) {
  on(1, "test_copy", on(1, "test_copy", x, "a"), "b");
  const auto id = load({"b"});
  EXPECT_EQ(fragments(0), 0u);
  EXPECT_EQ(fragments(1), 1u);
  EXPECT_EQ(run(id, 5)->value->fetches[0].item(), 5);
}

TEST_F(DeviceGroupTest, StreamsOutputsOfAllDevices) {
  build_a_chain();
  const auto id = load({"last"}, {"third", "first", "x"});
  std::vector<std::string> heard;
  const OutputSink sink = system.spawn([&heard]() -> OutputSink::behavior_type {
    return {[&heard](output_atom, std::uint64_t tag, std::uint32_t index, const Tensor& value) {
      heard.push_back(text(tag, ' ', index, ' ', value.item()));
    }};
  });
  const auto answer = ask<RunResult>(group, run_atom_v, id, std::uint64_t{0},
                                     TensorList{Tensor::scalar(4.f)}, sink, std::uint64_t{9});
  ASSERT_TRUE(answer->value) << answer->words();
  EXPECT_THAT(heard, UnorderedElementsAre("9 0 8", "9 1 4", "9 2 4"));
}

TEST_F(DeviceGroupTest, NamesTheDeviceOfTheNodeThatFailsAndGoesOn) {
  build_a_chain();
  const auto id = load({"last"});
  EXPECT_EQ(run(id, -1)->words(),
            "out of range: /device:CPU:1: node 'second' (test_fail): told to fail");
  EXPECT_EQ(run(id, 1)->value->fetches[0].item(), 2);
}

TEST_F(DeviceGroupTest, FailsOnlyTheRunThatFails) {
  build_a_chain();
  const auto id = load({"last"});
  std::vector<std::string> answers(6);
  for (int i = 0; i < 6; ++i)
    system.spawn([&, i](caf::event_based_actor* self) {
      self->request(group, caf::infinite, run_atom_v, id, std::uint64_t{0},
                    TensorList{Tensor::scalar(float(i % 2 ? -i : i))})
          .then([&answers, i](const RunResult& r) { answers[i] = text(r.fetches[0].item()); },
                [&answers, i](const caf::error& e) { answers[i] = text(to_string(code_of(e))); });
    });
  settle();
  EXPECT_THAT(answers, ElementsAre("0", "out of range", "4", "out of range", "8", "out of range"));
}

TEST_F(DeviceGroupTest, ChecksWhatIsFedAsOneDeviceDoes) {
  build_a_chain();
  const auto id = load({"last", "x"});
  const auto wrong = ask<RunResult>(group, run_atom_v, id, std::uint64_t{0},
                                    TensorList{Tensor(DType::float64, {})});
  EXPECT_EQ(wrong->words(),
            "invalid argument: placeholder 'x' takes float32 [], but was fed float64 []");
  const auto none = ask<RunResult>(group, run_atom_v, id, std::uint64_t{0}, TensorList{});
  EXPECT_THAT(none->words(), HasSubstr("the fragment takes 1 feeds (x), but got 0"));
  EXPECT_EQ(code_of(run(id + 7, 1)->fault), Code::invalid_argument);
}

TEST_F(DeviceGroupTest, RefusesAGraphThatItCannotPlace) {
  on(7, "test_copy", x, "y");
  graph->finish();
  const auto answer =
      ask<FragmentId>(group, load_atom_v, FragmentSpec{graph, {"x"}, {"x"}, {}, {}});
  EXPECT_THAT(answer->words(), HasSubstr("Cannot assign a device for operation y"));
}

TEST_F(DeviceGroupTest, UnloadsFromAllDevices) {
  build_a_chain();
  const auto id = load({"last"});
  EXPECT_EQ(fragments(0), 2u) << "before and after the others";
  EXPECT_EQ(fragments(1), 1u);
  EXPECT_TRUE(ask<caf::ok_atom>(group, unload_atom_v, id)->value);
  for (int device = 0; device < 3; ++device) EXPECT_EQ(fragments(device), 0u);
  EXPECT_EQ(code_of(run(id, 1)->fault), Code::invalid_argument);
  EXPECT_EQ(code_of(ask<caf::ok_atom>(group, unload_atom_v, id)->fault), Code::invalid_argument);
}

TEST_F(DeviceGroupTest, NamesADeviceThatIsGone) {
  build_a_chain();
  const auto id = load({"last"});
  kill(caf::actor_cast<caf::actor>(devices.members[2].device));
  EXPECT_THAT(run(id, 1)->words(), HasSubstr("unavailable: /device:CPU:2: the device is gone"));
}

TEST_F(DeviceGroupTest, SumsUpItsDevices) {
  build_a_chain();
  const auto id = load({"last"});
  run(id, 1);
  const auto status = *ask<DeviceStatus>(group, status_atom_v)->value;
  EXPECT_EQ(status.name, "/device:CPU:0, /device:CPU:1, /device:CPU:2");
  EXPECT_EQ(status.inter_op, 3);
  EXPECT_EQ(status.runs, 4u);
  EXPECT_EQ(status.fragments, 1u);
}

}  // namespace
}  // namespace troupe
