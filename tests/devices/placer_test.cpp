#include "troupe/devices/placer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/message_of.h"
#include "troupe/ops/array.h"
#include "troupe/ops/catalog.h"
#include "troupe/ops/device_scope.h"
#include "troupe/ops/device_types.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/op.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/replica_device_setter.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using test::message_of;
using testing::HasSubstr;

const std::string kLocal = "/job:localhost/replica:0/task:0";

void same_shape(InferContext& c) { c.output(c.input(0)); }
const OpDef only_gpu{.name = "only_gpu", .min_inputs = 1, .max_inputs = 1, .infer = same_shape};

/// Places graphs on CPUs, or on a CPU and the made-up kind of device that runs some ops.
class PlacerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_kernels("GPU", {"matmul", "mul", "shape_of", "assign", "add", "constant", "only_gpu"});
    if (!has_op("only_gpu")) register_op(only_gpu);
  }

  Output input(const std::string& name = "x") {
    return placeholder(graph, name, DType::float32, {2, 2});
  }
  Output weights(const std::string& name = "w") {
    return variable(graph, name, {2, 2}, init::zeros());
  }
  Output at(const std::string& device, const std::function<Output()>& make) {
    const DeviceScope scope(graph, device);
    return make();
  }
  /// The device, without the task when that is the local one.
  std::string where(const Output& output, const std::vector<std::string>& devices,
                    bool soft = false) {
    const auto name = place(graph, devices, {soft}).name_of(output.node());
    return name.rfind(kLocal, 0) == 0 ? name.substr(kLocal.size()) : name;
  }
  std::string why(const Output& output, const std::vector<std::string>& devices,
                  bool soft = false) {
    return place(graph, devices, {soft}).choices[output.node().id].why;
  }
  std::string refusal(const std::vector<std::string>& devices, bool soft = false) {
    return message_of([&] { place(graph, devices, {soft}); });
  }

  Graph graph;
  const std::vector<std::string> two = cpu_devices(2);
  const std::vector<std::string> with_gpu{"/cpu:0", "/gpu:0", "/gpu:1"};
};

TEST_F(PlacerTest, PutsEverythingOnTheFirstCpu) {
  const auto y = matmul(input(), weights());
  EXPECT_EQ(where(y, two), "/device:CPU:0");
  EXPECT_EQ(why(y, two), "no wish; the first CPU");
  EXPECT_EQ(place(graph, two).devices[1], "/job:localhost/replica:0/task:0/device:CPU:1");
}

TEST_F(PlacerTest, PutsNodesWhereTheyAsk) {
  const auto x = input();
  const auto y = at("/cpu:1", [&] { return tanh(x); });
  EXPECT_EQ(where(y, two), "/device:CPU:1");
  EXPECT_EQ(why(y, two), "asked for /device:CPU:1");
  EXPECT_EQ(where(at("/job:localhost/cpu:1", [&] { return tanh(x); }), two), "/device:CPU:1");
}

TEST_F(PlacerTest, PrefersAGpuIfAllOfTheGroupHaveAKernelForIt) {
  const auto w = weights();
  const auto fast = matmul(input(), w);
  const auto slow = tanh(fast);
  EXPECT_EQ(where(fast, with_gpu), "/device:GPU:0");
  EXPECT_EQ(where(w, with_gpu), "/device:GPU:0");
  EXPECT_EQ(where(slow, with_gpu), "/device:CPU:0");
  EXPECT_EQ(why(fast, with_gpu), "no wish; the first GPU");
}

TEST_F(PlacerTest, PutsAVariableOnTheCpuIfSomethingThatAssignsItNeedsThat) {
  const auto w = weights();
  const auto step = assign_sub(w, w);
  const auto v = weights("v");
  const auto set = assign(v, v);
  EXPECT_EQ(where(w, with_gpu), "/device:CPU:0") << "assign_sub has no kernel for the GPU";
  EXPECT_EQ(where(step, with_gpu), "/device:CPU:0");
  EXPECT_EQ(why(step, with_gpu), "with 'w'");
  EXPECT_EQ(where(v, with_gpu), "/device:GPU:0");
  EXPECT_EQ(where(set, with_gpu), "/device:GPU:0");
}

TEST_F(PlacerTest, PutsAnAssignmentWithItsVariableWhateverItAsksFor) {
  const auto w = at("/cpu:1", [&] { return weights(); });
  const auto elsewhere = at("/cpu:0", [&] { return assign(w, w); });
  const auto quiet = assign_add(w, w);
  EXPECT_EQ(where(elsewhere, two), "/device:CPU:1");
  EXPECT_EQ(why(elsewhere, two),
            "with 'w', which asked for /device:CPU:1; its own wish, /device:CPU:0, is passed over");
  EXPECT_EQ(why(quiet, two), "with 'w', which asked for /device:CPU:1");
}

TEST_F(PlacerTest, PutsColocatedNodesTogether) {
  const auto x = input();
  const auto first = at("/cpu:1", [&] { return tanh(x); });
  Output beside, third;
  {
    const ColocationScope scope(graph, first.node());
    beside = sigmoid(x);
  }
  {
    const ColocationScope scope(graph, beside.node());
    third = exp(x);
  }
  EXPECT_EQ(where(third, two), "/device:CPU:1");
  EXPECT_EQ(why(third, two), "with 'tanh', which asked for /device:CPU:1");
}

TEST_F(PlacerTest, IntersectsTheKindsOfDevicesOfAGroup) {
  const auto fast = matmul(input(), weights());
  const ColocationScope scope(graph, fast.node());
  tanh(fast);
  EXPECT_EQ(where(fast, with_gpu), "/device:CPU:0");
}

TEST_F(PlacerTest, RefusesColocatedNodesThatAskForDifferentDevices) {
  const auto x = input();
  const auto a = at("/cpu:0", [&] { return tanh(x); });
  const auto b = at("/cpu:1", [&] { return sigmoid(x); });
  Output both;
  {
    const ColocationScope with_a(graph, a.node());
    const ColocationScope with_b(graph, b.node());
    both = exp(x);
  }
  EXPECT_EQ(refusal(two),
            "Cannot colocate nodes 'tanh' and 'exp': Cannot merge devices with incompatible ids: "
            "'/device:CPU:0' and '/device:CPU:1'");
  EXPECT_EQ(refusal(two, true), "no error");
  EXPECT_EQ(where(both, two, true), "/device:CPU:1") << "left open by two, set by the third";
}

TEST_F(PlacerTest, RefusesColocatedNodesThatNoKindOfDeviceCanRun) {
  const auto fast = graph.add("only_gpu", {input()}).output(0);
  const ColocationScope scope(graph, fast.node());
  tanh(fast);
  EXPECT_EQ(refusal(with_gpu),
            "Cannot colocate nodes 'only_gpu' and 'tanh' because no device type supports both of "
            "those nodes and the other nodes colocated with them.");
  EXPECT_EQ(refusal(with_gpu, true), "no error");
}

TEST_F(PlacerTest, NamesTheDevicesThatThereAreWhenAnotherIsAskedFor) {
  at("/cpu:7", [&] { return tanh(input()); });
  EXPECT_EQ(refusal(two),
            "Cannot assign a device for operation tanh: 'tanh' was explicitly assigned to "
            "/device:CPU:7 but available devices are [ " +
                kLocal + "/device:CPU:0, " + kLocal +
                "/device:CPU:1 ]. Make sure the device specification refers to a valid device.");
}

TEST_F(PlacerTest, SaysThatADeviceHasNoKernel) {
  at("/gpu:1", [&] { return tanh(input()); });
  EXPECT_EQ(refusal(with_gpu),
            "Cannot assign a device for operation tanh: Could not satisfy explicit device "
            "specification '/device:GPU:1' because no supported kernel for GPU devices is "
            "available (tanh).");
}

TEST_F(PlacerTest, SaysThatAGroupRequiresAnotherDevice) {
  const auto x = input();
  const auto a = at("/job:localhost/cpu:*", [&] { return tanh(x); });
  const auto b = at("/device:*:1", [&] { return sigmoid(x); });
  const ColocationScope with_a(graph, a.node());
  const ColocationScope with_b(graph, b.node());
  exp(x);
  EXPECT_THAT(refusal({"/cpu:0", "/gpu:1"}),
              HasSubstr("because the node was colocated with a group of nodes that required "
                        "incompatible device '/job:localhost/device:CPU:1'"));
}

TEST_F(PlacerTest, TakesAnotherDeviceOfTheSameTaskInSoftPlacement) {
  const auto x = input();
  const auto missing = at("/gpu:5", [&] { return tanh(x); });
  const auto elsewhere = at("/job:ps/task:1/gpu:0", [&] { return sigmoid(x); });
  const std::vector<std::string> devices{"/cpu:0", "/job:ps/task:0/cpu:0", "/job:ps/task:1/cpu:0"};
  EXPECT_EQ(where(missing, devices, true), "/device:CPU:0");
  EXPECT_EQ(why(missing, devices, true), "asked for /device:GPU:5; soft placement: there is none");
  EXPECT_EQ(where(elsewhere, devices, true), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_NE(refusal(devices), "no error");
}

TEST_F(PlacerTest, KeepsJobAndTaskInSoftPlacement) {
  at("/job:ps/task:7", [&] { return tanh(input()); });
  EXPECT_THAT(refusal({"/cpu:0", "/job:ps/task:0/cpu:0"}, true),
              HasSubstr("'tanh' was explicitly assigned to /job:ps/task:7 but available"));
}

TEST_F(PlacerTest, TakesLocalDevicesFirstThenGoesByName) {
  const auto y = tanh(input());
  EXPECT_EQ(where(y, {"/job:worker/task:1/cpu:0", "/job:worker/task:0/cpu:0", "/job:a/cpu:0"}),
            "/job:worker/replica:0/task:1/device:CPU:0");
  const auto ps = at("/job:ps", [&] { return tanh(y); });
  EXPECT_EQ(where(ps, {"/cpu:0", "/job:ps/task:10/cpu:0", "/job:ps/task:9/cpu:0"}),
            "/job:ps/replica:0/task:9/device:CPU:0");
}

TEST_F(PlacerTest, PutsGeneratorsNextToTheirConsumers) {
  const auto x = input();
  const auto one = constant(graph, 1.0);
  const auto y = at("/cpu:1", [&] { return add(x, one); });
  EXPECT_EQ(where(x, two), "/device:CPU:1");
  EXPECT_EQ(where(one, two), "/device:CPU:1");
  EXPECT_EQ(why(x, two), "next to '" + y.name() + "', which reads it");
  at("/cpu:0", [&] { return add(x, x); });
  EXPECT_EQ(where(x, two), "/device:CPU:0") << "consumers on two devices";
}

TEST_F(PlacerTest, LeavesVariablesAndAskedForGeneratorsWhereTheyAre) {
  const auto w = weights();
  const auto one = at("/cpu:0", [&] { return constant(graph, 1.0); });
  at("/cpu:1", [&] { return add(w, one); });
  EXPECT_EQ(where(w, two), "/device:CPU:0");
  EXPECT_EQ(where(one, two), "/device:CPU:0");
}

TEST_F(PlacerTest, PutsWhatReadsOnlyAShapeWithItsInput) {
  const auto y = at("/gpu:1", [&] { return matmul(input(), weights()); });
  const auto shape = shape_of(y);
  EXPECT_EQ(where(shape, with_gpu), "/device:GPU:1");
  EXPECT_EQ(why(shape, with_gpu), "reads the shape of 'matmul'");
}

TEST_F(PlacerTest, KeepsAFewIntegersOnTheCpuUnlessAsked) {
  const auto counter = variable(graph, "n", {4}, init::zeros(), {.dtype = DType::int64});
  const auto doubled = add(counter, counter);
  const auto asked = at("/gpu:0", [&] { return add(counter, counter); });
  EXPECT_EQ(where(doubled, with_gpu), "/device:CPU:0");
  EXPECT_EQ(why(doubled, with_gpu), "a few integers, which are quicker on a CPU");
  EXPECT_EQ(where(asked, with_gpu), "/device:GPU:0");
}

TEST_F(PlacerTest, PutsGradientsWhereTheirNodesAre) {
  const auto w = at("/cpu:1", [&] { return weights(); });
  const auto x = input();
  const auto hidden = at("/cpu:1", [&] { return tanh(matmul(x, w)); });
  const auto loss = reduce_sum(square(hidden));
  const auto first = graph.nodes().size();
  const auto gradient = gradients(loss, {w})[0].dense();
  EXPECT_EQ(where(gradient, two), "/device:CPU:1");
  const auto placement = place(graph, two);
  for (std::size_t id = first; id < graph.nodes().size(); ++id) {
    const auto& node = graph.nodes()[id];
    EXPECT_EQ(placement.device_of(node), placement.device_of(*node.colocated_with[0])) << node.name;
  }
}

TEST_F(PlacerTest, PlacesWhatReplicaDeviceSetterAsksFor) {
  const DeviceScope scope(graph,
                          replica_device_setter({.ps_tasks = 2, .strategy = round_robin(2)}));
  const auto w = weights("w");
  const auto b = weights("b");
  const auto y = add(matmul(input(), w), b);
  const std::vector<std::string> cluster{"/job:worker/task:0/cpu:0", "/job:worker/task:1/cpu:0",
                                         "/job:ps/task:0/cpu:0", "/job:ps/task:1/cpu:0"};
  EXPECT_EQ(where(w, cluster), "/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(where(b, cluster), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(where(y, cluster), "/job:worker/replica:0/task:0/device:CPU:0");
}

TEST_F(PlacerTest, DescribesItselfAsTensorFlowsLogDoes) {
  at("/cpu:1", [&] { return weights(); });
  const auto placement = place(graph, two);
  EXPECT_EQ(describe(placement, graph), "w: (variable): " + kLocal + "/device:CPU:1\n");
  EXPECT_EQ(describe(placement, graph, true),
            "w: (variable): " + kLocal + "/device:CPU:1  # asked for /device:CPU:1\n");
}

TEST_F(PlacerTest, WantsDevicesWithFullNamesOfTheirOwn) {
  EXPECT_EQ(refusal({}), "a graph needs at least 1 device to run on");
  EXPECT_EQ(refusal({"/job:worker"}),
            "a device to run on needs a type and a number, as in /device:CPU:0, but is called "
            "'/job:worker'");
  EXPECT_EQ(refusal({"/cpu:0", "/device:CPU:0"}),
            "two devices are called " + kLocal + "/device:CPU:0");
}

}  // namespace
}  // namespace troupe
