#include "troupe/ops/replica_device_setter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "troupe/ops/device_scope.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/random.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using testing::ElementsAre;

// The expected devices are those of TensorFlow's own tests of replica_device_setter.
class ReplicaDeviceSetter : public testing::Test {
 protected:
  Output weights(const std::string& name, std::int64_t size = 2) {
    return variable(graph, name, {size}, init::zeros());
  }
  static const std::string& device(const Output& output) { return output.node().device; }

  Graph graph;
  ReplicaDeviceSetterOptions two{.ps_tasks = 2, .strategy = round_robin(2)};
};

TEST_F(ReplicaDeviceSetter, PutsVariablesOnTheTasksInTurnAndTheRestOnTheWorker) {
  const DeviceScope scope(graph, replica_device_setter(two));
  const auto v = weights("v");
  const auto w = weights("w");
  EXPECT_EQ(device(v), "/job:ps/task:0");
  EXPECT_EQ(device(w), "/job:ps/task:1");
  EXPECT_EQ(device(weights("third")), "/job:ps/task:0");
  EXPECT_EQ(device(v + w), "/job:worker");
}

TEST_F(ReplicaDeviceSetter, AddsToWhatScopesInsideAskFor) {
  const DeviceScope scope(graph, replica_device_setter(two));
  Output v, a;
  {
    const DeviceScope cpu(graph, "/cpu:0");
    v = weights("v");
  }
  const auto w = weights("w");
  {
    const DeviceScope cpu(graph, "/cpu:0");
    a = v + w;
  }
  EXPECT_EQ(device(v), "/job:ps/task:0/device:CPU:0");
  EXPECT_EQ(device(w), "/job:ps/task:1");
  EXPECT_EQ(device(a), "/job:worker/device:CPU:0");
}

TEST_F(ReplicaDeviceSetter, GivesATaskOnlyInItsOwnJob) {
  const DeviceScope scope(graph, replica_device_setter(two));
  EXPECT_EQ(device(weights("v")), "/job:ps/task:0");
  const DeviceScope moon(graph, "/job:moon");
  EXPECT_EQ(device(weights("w")), "/job:moon");
  const DeviceScope ps(graph, "/job:ps");
  EXPECT_EQ(device(weights("x")), "/job:ps/task:1");
}

TEST_F(ReplicaDeviceSetter, GivesNoTaskWithoutAJob) {
  const DeviceScope scope(graph, replica_device_setter({.ps_tasks = 1, .ps_device = "/cpu:0"}));
  const auto v = weights("v");
  EXPECT_EQ(device(v), "/device:CPU:0");
  EXPECT_EQ(device(v + v), "/job:worker");
  const DeviceScope moon(graph, "/job:moon");
  EXPECT_EQ(device(weights("w")), "/job:moon/device:CPU:0");
}

TEST_F(ReplicaDeviceSetter, LeavesAloneWhatAsksByItselfWithoutMerging) {
  two.merge_devices = false;
  const DeviceScope scope(graph, replica_device_setter(two));
  EXPECT_EQ(device(weights("v")), "/job:ps/task:0");
  const DeviceScope ps(graph, "/job:ps");
  EXPECT_EQ(device(weights("w")), "/job:ps");
}

TEST_F(ReplicaDeviceSetter, TakesOtherJobsAndDevices) {
  two.ps_device = "/job:moon/cpu:0";
  two.worker_device = "/job:sun/task:3";
  const DeviceScope scope(graph, replica_device_setter(two));
  const auto v = weights("v");
  EXPECT_EQ(device(v), "/job:moon/task:0/device:CPU:0");
  EXPECT_EQ(device(identity(v)), "/job:sun/task:3");
}

TEST_F(ReplicaDeviceSetter, HasNoEffectWithoutTasks) {
  const DeviceScope scope(graph, replica_device_setter({}));
  const auto v = weights("v");
  EXPECT_EQ(device(v), "");
  EXPECT_EQ(device(identity(v)), "");
}

TEST_F(ReplicaDeviceSetter, BalancesBytesUnlessToldOtherwise) {
  const DeviceScope scope(graph, replica_device_setter({.ps_tasks = 2}));
  std::vector<std::string> devices;
  for (const std::int64_t size : {10, 4, 4, 4, 1})
    devices.push_back(device(weights("w" + std::to_string(devices.size()), size)));
  EXPECT_THAT(devices, ElementsAre("/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:1",
                                   "/job:ps/task:1", "/job:ps/task:0"));
}

TEST_F(ReplicaDeviceSetter, CanGoByNames) {
  two.strategy = by_name(2, 5);
  const auto setter = replica_device_setter(two);
  const DeviceScope scope(graph, setter);
  int tasks[2] = {0, 0};
  for (int i = 0; i < 100; ++i) {
    const auto w = weights("w" + std::to_string(i));
    const auto task = static_cast<int>(seed_for(5, w.name()) % 2);
    EXPECT_EQ(device(w), "/job:ps/task:" + std::to_string(task));
    ++tasks[task];
  }
  EXPECT_GT(tasks[0], 30);
  EXPECT_GT(tasks[1], 30);
}

}  // namespace
}  // namespace troupe
