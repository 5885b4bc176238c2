#include "troupe/devices/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "troupe/ops/array.h"
#include "troupe/ops/device_scope.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/op.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PartitionTest : public testing::Test {
 protected:
  Output input(const std::string& name, int device) {
    const DeviceScope scope(*graph, text("/cpu:", device));
    return placeholder(*graph, name, DType::float32, {2});
  }
  Output on(int device, const std::string& name, const Output& x, const OutputList& after = {}) {
    const DeviceScope scope(*graph, text("/cpu:", device));
    const ControlScope control(*graph, after);
    return graph->add("tanh", {x}, {}, name).output(0);
  }
  Partition cut(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches,
                const std::vector<std::string>& targets = {}) {
    graph->finish();
    const auto subgraph = select_subgraph({graph, feeds, fetches, {}, targets});
    return partition(subgraph, place(*graph, cpu_devices(3)));
  }
  /// "a b -> c": what a fragment is fed, computes and gives.
  static std::string described(const PartFragment& fragment) {
    std::string out;
    for (const auto& feed : fragment.spec.feeds) out += feed + " ";
    out += "[";
    for (const auto& node : fragment.spec.graph->nodes())
      if (node.op->name == "tanh" || node.op->name == "no_op") out += " " + node.name;
    out += " ]";
    for (const auto& output : fragment.spec.streamed) out += " " + output;
    return out;
  }
  static std::vector<std::string> fragments(const PartSpec& part) {
    std::vector<std::string> all;
    for (const auto& fragment : part.fragments) all.push_back(described(fragment));
    return all;
  }

  GraphPtr graph = std::make_shared<Graph>();
};

TEST_F(PartitionTest, LeavesOneDeviceInOnePart) {
  const auto x = input("x", 1);
  on(1, "b", on(1, "a", x));
  const auto out = cut({"x"}, {"b"});
  ASSERT_EQ(out.parts.size(), 1u);
  EXPECT_EQ(out.parts[0].device, 1u);
  EXPECT_EQ(out.edges(), 0u);
  EXPECT_THAT(fragments(out.parts[0]), ElementsAre("x:0 [ a b ] b:0"));
}

TEST_F(PartitionTest, CutsAnEdgeBetweenDevices) {
  const auto x = input("x", 0);
  on(1, "b", on(0, "a", x));
  const auto out = cut({"x"}, {"b"});
  ASSERT_EQ(out.parts.size(), 2u);
  EXPECT_EQ(out.edges(), 1u);
  EXPECT_THAT(fragments(out.parts[0]), ElementsAre("x:0 [ a ] a:0"));
  EXPECT_THAT(fragments(out.parts[1]), ElementsAre("a:0 [ b ] b:0"));
  EXPECT_EQ(out.feeds[0].part, 0u);
  EXPECT_EQ(out.fetches[0].part, 1u);
}

TEST_F(PartitionTest, SendsAValueToADeviceOnceHoweverManyReadIt) {
  const auto x = input("x", 0);
  const auto a = on(0, "a", x);
  on(1, "b", a);
  on(1, "c", a);
  on(2, "d", a);
  const auto out = cut({"x"}, {"b", "c", "d"});
  EXPECT_EQ(out.edges(), 2u);
  EXPECT_THAT(fragments(out.parts[1]), ElementsAre("a:0 [ b c ] b:0 c:0"));
}

TEST_F(PartitionTest, LetsNoNodeWaitForWhatItDoesNotNeed) {
  const auto x = input("x", 0);
  const auto there = on(1, "there", on(0, "a", x));
  on(0, "back", there);
  on(0, "own", x);
  const auto out = cut({"x"}, {"back", "own"});
  EXPECT_THAT(fragments(out.parts[0]),
              ElementsAre("x:0 [ a own ] a:0 own:0", "there:0 [ back ] back:0"));
}

TEST_F(PartitionTest, PipelinesMicroBatchesThroughDevices) {
  OutputList ends;
  const auto x = input("x", 0);
  for (const auto* name : {"m1", "m2", "m3"})
    ends.push_back(on(1, std::string(name) + "/second", on(0, std::string(name) + "/first", x)));
  const auto out = cut({"x"}, {"m1/second", "m2/second", "m3/second"});
  EXPECT_EQ(out.parts[0].fragments.size(), 1u);
  EXPECT_EQ(out.parts[1].fragments.size(), 3u) << "each begins when its own input is there";
}

TEST_F(PartitionTest, RunsAsOneWhatWaitsForFeedsOfAnotherDevice) {
  const auto x = input("x", 0);
  const auto y = input("y", 0);
  on(1, "b", x);
  on(1, "c", y);
  const auto out = cut({"x", "y"}, {"b", "c"});
  EXPECT_THAT(fragments(out.parts[0]), IsEmpty());
  EXPECT_THAT(fragments(out.parts[1]), ElementsAre("x:0 y:0 [ b c ] b:0 c:0"));
}

TEST_F(PartitionTest, KeepsValuesBetweenFragmentsOfADevice) {
  const auto x = input("x", 0);
  const auto a = on(0, "a", x);
  const auto there = on(1, "there", a);
  {
    const DeviceScope scope(*graph, "/cpu:0");
    named("sum", a + there);
  }
  const auto out = cut({"x"}, {"sum"});
  EXPECT_EQ(out.edges(), 2u) << "a goes to the other device only";
  EXPECT_THAT(fragments(out.parts[0]), ElementsAre("x:0 [ a ] a:0", "a:0 there:0 [ ] sum:0"));
}

TEST_F(PartitionTest, CopiesConstantsToWhereTheyAreUsed) {
  const auto x = input("x", 0);
  const auto one = constant(*graph, Tensor::filled(DType::float32, {2}, 1), "one");
  const auto a = x + one;
  const DeviceScope scope(*graph, "/cpu:1");
  named("sum", a + one);
  const auto out = cut({"x"}, {"sum", "one"});
  EXPECT_EQ(out.edges(), 1u);
  int constants = 0;
  for (const auto& part : out.parts)
    for (const auto& fragment : part.fragments)
      for (const auto& node : fragment.spec.graph->nodes())
        constants += node.op->name == "constant";
  EXPECT_EQ(constants, 3) << "one of them is fetched";
}

TEST_F(PartitionTest, MakesAControlDependencyAnEdgeWithoutAValue) {
  const auto x = input("x", 0);
  const auto first = on(0, "first", x);
  on(1, "second", x, {first});
  const auto out = cut({"x"}, {"second"});
  EXPECT_THAT(fragments(out.parts[0]), ElementsAre("x:0 [ first first/done ] first/done"));
  EXPECT_THAT(fragments(out.parts[1]), ElementsAre("x:0 [ second ] second:0"));
  EXPECT_EQ(out.parts[1].fragments[0].awaits, 2) << "x, and the end of first";
}

TEST_F(PartitionTest, KeepsControlDependenciesInsideAFragment) {
  const auto x = input("x", 0);
  const auto first = on(0, "first", x);
  const auto second = on(0, "second", x, {first});
  const DeviceScope scope(*graph, "/cpu:0");
  group(*graph, {second}, "step");
  const auto out = cut({"x"}, {}, {"step"});
  ASSERT_EQ(out.parts[0].fragments.size(), 1u);
  const auto& spec = out.parts[0].fragments[0].spec;
  EXPECT_THAT(spec.targets, ElementsAre("step"));
  EXPECT_EQ(spec.graph->find("second")->control_inputs[0], spec.graph->find("first"));
  EXPECT_EQ(spec.graph->find("step")->control_inputs[0], spec.graph->find("second"));
}

TEST_F(PartitionTest, WaitsForTargetsOfOtherDevices) {
  const auto x = input("x", 0);
  const auto a = on(0, "a", x);
  const auto b = on(1, "b", x);
  const DeviceScope scope(*graph, "/cpu:2");
  group(*graph, {a, b}, "step");
  const auto out = cut({"x"}, {"step"}, {"step"});
  ASSERT_EQ(out.parts.size(), 3u);
  EXPECT_THAT(fragments(out.parts[2]), ElementsAre("[ step ] step"));
  EXPECT_EQ(out.parts[2].fragments[0].awaits, 2);
}

TEST_F(PartitionTest, KeepsVariablesVariables) {
  Output w;
  {
    const DeviceScope scope(*graph, "/cpu:1");
    w = variable(*graph, "w", {2}, init::zeros());
  }
  const auto a = on(0, "a", w);
  named("step", assign_sub(w, a));
  const auto out = cut({"w"}, {"step"});
  EXPECT_EQ(out.feeds[0].part, 0u);
  EXPECT_EQ(out.parts[0].device, 1u);
  const auto& last = *out.parts[0].fragments.at(0).spec.graph;
  EXPECT_EQ(last.find("w")->op->name, "variable");
  EXPECT_EQ(last.find("step")->op->name, "assign_sub");
}

TEST_F(PartitionTest, TakesValuesThatAreFedInTheMiddle) {
  const auto x = input("x", 0);
  const auto parts = split(x, {1, 1}, 0);
  const auto both = named("both", concat(parts, 0));
  on(1, "b", both);
  const auto out = cut({"x", parts[0].name()}, {"b"});
  EXPECT_EQ(out.parts[0].feeds.size(), 2u);
  const auto& spec = out.parts[0].fragments.at(0).spec;
  EXPECT_EQ(spec.feeds.size(), 2u) << "one part is fed, the other one is cut from x";
}

TEST_F(PartitionTest, FetchesWhatIsFed) {
  input("x", 1);
  const auto out = cut({"x"}, {"x"});
  ASSERT_EQ(out.parts.size(), 1u);
  EXPECT_THAT(out.parts[0].slots[0].fetched, ElementsAre(0u));
  EXPECT_THAT(fragments(out.parts[0]), IsEmpty());
}

}  // namespace
}  // namespace troupe
