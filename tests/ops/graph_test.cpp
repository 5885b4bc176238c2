#include "troupe/ops/graph.h"

#include <gtest/gtest.h>

#include "troupe/ops/error.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

template <class Fn>
std::string message_of(Fn fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Graph, NamesNodesUniquelyAndByScope) {
  Graph g;
  const auto a = constant(g, 1.0);
  EXPECT_EQ(constant(g, 2.0).name(), "constant_1");
  const NameScope tower(g, "tower_0");
  EXPECT_EQ(identity(a).name(), "tower_0/identity");
}

TEST(Graph, SaysWhichNodeIsWrong) {
  Graph g;
  const auto x = constant(g, 1.0);
  EXPECT_EQ(message_of([&] {
              g.add("identity", {x, x}, {}, "twice");
            }),
            "node 'twice' (identity): takes 1 inputs, but got 2");
  EXPECT_EQ(message_of([&] { g.add("constant", {}, {}, "c"); }),
            "node 'c' (constant): attribute 'value' is missing");
}

TEST(Graph, RefusesToGrowWhenFinished) {
  Graph g;
  g.finish();
  EXPECT_EQ(message_of([&] { constant(g, 1.0); }),
            "cannot add 'constant' (constant): the graph is finished; build everything before it "
            "runs");
}

TEST(Graph, UsesTheFirstSuffixThatIsFree) {
  Graph g;
  const auto add = [&] { return g.add("no_op", {}, {}, "x").name; };
  EXPECT_EQ(g.add("no_op", {}, {}, "x_2").name, "x_2");
  EXPECT_EQ(add(), "x");
  EXPECT_EQ(add(), "x_1");
  EXPECT_EQ(add(), "x_3");
  g.rename(*g.find("x_1"), "y");
  EXPECT_EQ(add(), "x_1") << "a name that became free is used again";
  g.rename(*g.find("x"), "z");
  EXPECT_EQ(add(), "x");
}

TEST(Graph, FindsOutputsByNameAndSaysWhatIsNear) {
  Graph g;
  const auto x = placeholder(g, "features", DType::float32, {-1, 4});
  EXPECT_EQ(g.output("features:0"), x);
  EXPECT_EQ(message_of([&] { g.output("feat"); }),
            "the graph has no node 'feat'; there are: features");
  EXPECT_EQ(message_of([&] { g.output("features:3"); }),
            "node 'features' (placeholder) has 1 outputs, but output 3 was asked for");
}

TEST(Variable, IsSharedByItsName) {
  Graph g;
  const auto a = variable(g, "w", {2, 3}, init::zeros());
  EXPECT_EQ(variable(g, "w", {2, 3}, init::zeros()), a);
  EXPECT_EQ(message_of([&] {
              variable(g, "w", {3, 2}, init::zeros());
            }),
            "variable 'w' exists as float32 [2, 3], but was asked for as float32 [3, 2]");
}

TEST(Variable, StartsFromItsNameAndTheSeedAlone) {
  Graph g, h;
  variable(g, "other", {5}, init::normal(0, 1));
  variable(g, "w", {4, 4}, init::xavier_normal());
  variable(h, "w", {4, 4}, init::xavier_normal());
  const auto a = initial_value(g.variables()[1], 7);
  EXPECT_TRUE(same_bits(a, initial_value(h.variables()[0], 7)));
  EXPECT_FALSE(same_bits(a, initial_value(h.variables()[0], 8)));
}

TEST(Gradients, NeedAScalarLoss) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {2});
  EXPECT_EQ(message_of([&] { gradients(x, {x}); }),
            "gradients need a loss that is one floating number, but 'x' is float32 [2]; use "
            "reduce_mean or reduce_sum");
}

TEST(Gradients, AreEmptyForWhatTheLossDoesNotDependOn) {
  Graph g;
  const auto x = variable(g, "x", {}, init::zeros());
  const auto y = variable(g, "y", {}, init::zeros());
  const auto grads = gradients(identity(x), {x, y, stop_gradient(x)});
  EXPECT_TRUE(grads[0]);
  EXPECT_FALSE(grads[1]);
  EXPECT_FALSE(grads[2]);
}

}  // namespace
}  // namespace troupe
