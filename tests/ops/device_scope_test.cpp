#include "troupe/ops/device_scope.h"

#include <gtest/gtest.h>

#include "support/message_of.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/op.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using test::message_of;

const std::string& device(const Output& output) { return output.node().device; }

TEST(DeviceScope, IsWhatNewNodesAskFor) {
  Graph g;
  EXPECT_EQ(device(constant(g, 1.0)), "");
  {
    const DeviceScope scope(g, "/gpu:1");
    EXPECT_EQ(device(constant(g, 1.0)), "/device:GPU:1");
  }
  EXPECT_EQ(device(constant(g, 1.0)), "");
}

TEST(DeviceScope, NestsWithTheInnerOneWinning) {
  Graph g;
  const DeviceScope job(g, "/job:worker/task:1/cpu:0");
  const DeviceScope inside(g, "/task:2/cpu:1");
  EXPECT_EQ(device(constant(g, 1.0)), "/job:worker/task:2/device:CPU:1");
  const DeviceScope nothing(g, "");
  EXPECT_EQ(device(constant(g, 1.0)), "/job:worker/task:2/device:CPU:1");
}

TEST(DeviceScope, RefusesWhatIsNoDeviceAtOnce) {
  Graph g;
  EXPECT_NE(message_of([&] { const DeviceScope scope(g, "/nonsense"); }), "no error");
  EXPECT_EQ(device(constant(g, 1.0)), "");
}

TEST(DeviceScope, TakesAFunctionOfTheNode) {
  Graph g;
  const DeviceScope scope(
      g, [](const Node& node) { return node.op->name == "variable" ? "/cpu:0" : "/gpu:0"; });
  EXPECT_EQ(device(variable(g, "w", {2}, init::zeros())), "/device:CPU:0");
  EXPECT_EQ(device(constant(g, 1.0)), "/device:GPU:0");
}

TEST(DeviceScope, AsksFunctionsFromTheInnermostToTheOutermost) {
  Graph g;
  std::string seen;
  const DeviceScope outer(g, [&](const Node& node) {
    seen = node.name + " " + node.device;
    return std::string("/job:worker/gpu:7");
  });
  const DeviceScope inner(g, [](const Node&) { return std::string("/cpu:1"); });
  EXPECT_EQ(device(constant(g, Tensor::scalar(1.f), "one")), "/job:worker/device:CPU:1");
  EXPECT_EQ(seen, "one /device:CPU:1");
}

TEST(DeviceScope, TakesNoFunctionAsNoWish) {
  Graph g;
  const DeviceScope scope(g, DeviceFunction());
  EXPECT_EQ(device(constant(g, 1.0)), "");
}

TEST(ColocationScope, PutsNodesBesideAnother) {
  Graph g;
  const auto w = variable(g, "w", {2}, init::zeros());
  const ColocationScope beside(g, w.node());
  const auto& slot = constant(g, 1.0).node();
  ASSERT_EQ(slot.colocated_with.size(), 1u);
  EXPECT_EQ(slot.colocated_with[0], &w.node());
}

TEST(ColocationScope, TakesOverTheDeviceAndPassesByTheScopesOutside) {
  Graph g;
  const auto anywhere = constant(g, 1.0);
  Output w;
  {
    const DeviceScope second(g, "/cpu:1");
    w = variable(g, "w", {2}, init::zeros());
  }
  const DeviceScope outside(g, "/job:worker/cpu:5");
  {
    const ColocationScope beside(g, w.node());
    const DeviceScope inside(g, "/cpu:3");
    EXPECT_EQ(device(constant(g, 1.0)), "/device:CPU:1");
  }
  {
    const ColocationScope beside(g, anywhere.node());
    EXPECT_EQ(device(constant(g, 1.0)), "");
    const DeviceScope inside(g, "/cpu:3");
    EXPECT_EQ(device(constant(g, 1.0)), "/device:CPU:3");
  }
  EXPECT_EQ(device(constant(g, 1.0)), "/job:worker/device:CPU:5");
}

TEST(ColocationScope, RefusesANodeOfAnotherGraph) {
  Graph g, other;
  const DeviceScope scope(g, "/cpu:1");
  const auto& node = constant(other, 1.0).node();
  EXPECT_EQ(message_of([&] { const ColocationScope beside(g, node); }),
            "cannot colocate nodes with 'constant': it belongs to another graph");
  EXPECT_EQ(device(constant(g, 1.0)), "/device:CPU:1") << "the scopes are as they were";
}

TEST(Gradients, AreColocatedWithTheNodesThatTheyAreOf) {
  Graph g;
  Output w, v;
  {
    const DeviceScope first(g, "/cpu:0");
    w = variable(g, "w", {3, 3}, init::zeros());
  }
  {
    const DeviceScope second(g, "/cpu:1");
    v = variable(g, "v", {3, 3}, init::zeros());
  }
  const auto input = placeholder(g, "x", DType::float32, {-1, 3});
  Output hidden, loss;
  {
    const DeviceScope first(g, "/cpu:0");
    hidden = tanh(matmul(input, w));
  }
  {
    const DeviceScope second(g, "/cpu:1");
    loss = reduce_mean(square(matmul(hidden, v)) + reduce_sum(w));
  }
  const auto before = g.nodes().size();
  const DeviceScope elsewhere(g, "/cpu:7");
  gradients(loss, {w, v});
  ASSERT_GT(g.nodes().size(), before + 4);
  for (std::size_t id = before; id < g.nodes().size(); ++id) {
    const auto& node = g.nodes()[id];
    ASSERT_EQ(node.colocated_with.size(), 1u) << node.name;
    EXPECT_EQ(node.device, node.colocated_with[0]->device) << node.name;
    EXPECT_NE(node.device, "/device:CPU:7") << node.name;
  }
}

}  // namespace
}  // namespace troupe
