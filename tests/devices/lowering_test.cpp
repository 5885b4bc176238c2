#include "troupe/devices/lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fragment_runs.h"
#include "troupe/devices/fusion.h"
#include "troupe/ops/array.h"
#include "troupe/ops/convolution.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/op.h"
#include "troupe/ops/pooling.h"
#include "troupe/ops/random_ops.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class LoweringTest : public testing::Test {
 protected:
  Output input(const std::string& name, const Shape& shape) {
    feeds.push_back(name);
    return placeholder(*graph, name, DType::float32, shape);
  }

  LoweredGraph lower_to(const OutputList& fetches) {
    graph->finish();
    FragmentSpec spec{graph, feeds, {}, {}, {}};
    std::vector<TensorSpec> fed;
    for (const auto& name : feeds) fed.push_back(graph->output(name).spec());
    for (const auto& fetch : fetches) spec.fetches.push_back(fetch.name());
    return lower(select_subgraph(spec), fed);
  }
  LoweredGraph fuse_to(const OutputList& fetches) {
    auto lowered = lower_to(fetches);
    fuse(lowered);
    return lowered;
  }

  /// The ops that have something to do, in no order.
  static std::vector<std::string> ops_of(const LoweredGraph& lowered) {
    const auto live = live_nodes(lowered);
    std::vector<std::string> ops;
    for (const auto& node : lowered.graph->nodes()) {
      const auto name = std::string(node.op->name);
      if (live[node.id] && name != "placeholder" && name != "variable" && name != "constant")
        ops.push_back(name);
    }
    return ops;
  }

  GraphPtr graph = std::make_shared<Graph>();
  std::vector<std::string> feeds;
};

TEST_F(LoweringTest, MergesEqualNodes) {
  const auto x = input("x", {2});
  EXPECT_THAT(ops_of(lower_to({exp(x) + exp(x)})), UnorderedElementsAre("exp", "add"));
}

TEST_F(LoweringTest, KeepsNodesApartThatDifferInAnAttribute) {
  const auto x = input("x", {2});
  const auto y = clip_by_value(x, 0, 1) + clip_by_value(x, 0, 2);
  EXPECT_THAT(ops_of(lower_to({y})), UnorderedElementsAre("clip_by_value", "clip_by_value", "add"));
}

TEST_F(LoweringTest, TellsZeroFromMinusZero) {
  const auto x = input("x", {});
  const auto y = div(x, constant(*graph, 0.0)) + div(x, constant(*graph, -0.0));
  EXPECT_THAT(ops_of(lower_to({y})), UnorderedElementsAre("div", "div", "add"));
}

TEST_F(LoweringTest, NeverMergesWhatIsRandom) {
  const auto y = random_uniform(*graph, {2}) + random_uniform(*graph, {2});
  EXPECT_THAT(ops_of(lower_to({y})),
              UnorderedElementsAre("random_uniform", "random_uniform", "add"));
}

TEST_F(LoweringTest, FoldsWhatDependsOnConstantsOnly) {
  const auto x = input("x", {2});
  const auto factor = exp(constant(*graph, 0.0)) + 2.0;
  const auto lowered = lower_to({x * factor});
  EXPECT_THAT(ops_of(lowered), ElementsAre("mul"));
  EXPECT_EQ(lowered.fetches[0].node().inputs[1].node().attributes.get<Tensor>("value").item(), 3);
}

TEST_F(LoweringTest, FoldsWhatDependsOnShapesOnly) {
  const auto x = input("x", {3, 2});
  EXPECT_THAT(ops_of(lower_to({zeros_like(exp(x)), size_of(exp(x))})), IsEmpty())
      << "nobody needs the values of exp";
}

TEST_F(LoweringTest, DoesNotFoldIntoLargeConstants) {
  const auto x = input("x", {1000, 1000});
  EXPECT_THAT(ops_of(lower_to({ones_like(x)})), ElementsAre("ones_like"));
}

TEST_F(LoweringTest, LeavesFailuresForTheRun) {
  const auto seven = constant(*graph, Tensor::scalar<std::int32_t>(7));
  const auto zero = constant(*graph, Tensor::scalar<std::int32_t>(0));
  EXPECT_THAT(ops_of(lower_to({div(seven, zero)})), ElementsAre("div"));
}

TEST_F(LoweringTest, LeavesNodesAloneThatMustRunAfterOthers) {
  const auto x = input("x", {});
  const ControlScope after(*graph, {exp(x)});
  EXPECT_THAT(ops_of(lower_to({constant(*graph, 1.0) + 1.0})), UnorderedElementsAre("exp", "add"));
}

TEST_F(LoweringTest, KeepsNamesAndKnowsEveryExtent) {
  const auto x = input("x", {2, 3});
  const auto y = named("y", reduce_sum(x, {0}));
  const auto lowered = lower_to({y});
  EXPECT_EQ(lowered.fetches[0].name(), "y");
  EXPECT_EQ(lowered.fetches[0].shape(), Shape({3}));
}

class FusionTest : public LoweringTest {
 protected:
  Output x = input("x", {8, 4});
  Output w = input("w", {4, 6});
  Output b = input("b", {6});
};

TEST_F(FusionTest, PutsBiasAndReluIntoAProduct) {
  const auto lowered = fuse_to({relu(bias_add(matmul(x, w), b))});
  EXPECT_THAT(ops_of(lowered), ElementsAre("fused_matmul"));
  const auto& node = lowered.fetches[0].node();
  EXPECT_EQ(node.name, "matmul+bias_add+relu");
  EXPECT_EQ(node.attributes.get<std::string>("activation"), "relu");
  EXPECT_THAT(lowered.notes, ElementsAre("matmul+bias_add+relu -> fused_matmul"));
}

TEST_F(FusionTest, TakesAnAddForABiasOnEitherSide) {
  const auto lowered = fuse_to({b + matmul(x, w), matmul(x + 1.0, w) + b});
  EXPECT_THAT(ops_of(lowered), UnorderedElementsAre("fused_matmul", "fused_matmul", "add"));
}

TEST_F(FusionTest, DoesNotTakeEveryAddForABias) {
  const auto column = input("column", {8, 1});
  const auto whole = input("whole", {8, 6});
  EXPECT_THAT(ops_of(fuse_to({matmul(x, w) + column, matmul(x, w * 2.0) + whole})),
              UnorderedElementsAre("matmul", "add", "mul", "matmul", "add"));
}

TEST_F(FusionTest, PutsBiasAndReluIntoAConvolution) {
  const auto images = input("images", {2, 8, 8, 3});
  const auto filter = input("filter", {3, 3, 3, 6});
  const auto y = relu(bias_add(conv2d(images, filter, {.strides = {2, 1}}), b));
  const auto lowered = fuse_to({y});
  EXPECT_THAT(ops_of(lowered), ElementsAre("fused_conv2d"));
  EXPECT_EQ(lowered.fetches[0].shape(), y.shape());
}

/// Convolution, bias, ReLU and 2 x 2 pooling of images with one channel.
class FirstLayerFusionTest : public FusionTest {
 protected:
  Output images = input("images", {3, 8, 20, 1});
  Output filter = input("filter", {3, 4, 1, 5});
  Output bias = input("bias", {5});
  Output active = relu(bias_add(conv2d(images, filter, {.strides = {1, 2}}), bias));
  Output pooled = max_pool(active);
};

TEST_F(FirstLayerFusionTest, MakesOneNodeOfTheWayForward) {
  const auto lowered = fuse_to({pooled});
  EXPECT_THAT(ops_of(lowered), ElementsAre("fused_conv_bias_relu_pool"));
  EXPECT_EQ(lowered.fetches[0].shape(), pooled.shape());
}

TEST_F(FirstLayerFusionTest, MakesOneNodeOfTheWayBack) {
  const auto grads = gradients(reduce_sum(square(pooled)), {filter, bias});
  const auto ops = ops_of(fuse_to({grads[0].dense(), grads[1].dense()}));
  EXPECT_THAT(
      ops, testing::IsSupersetOf({"fused_conv_bias_relu_pool", "fused_conv_bias_relu_pool_grad"}));
  for (const auto* gone : {"conv2d", "max_pool", "max_pool_grad", "relu_grad", "bias_add_grad",
                           "conv2d_backprop_filter"})
    EXPECT_THAT(ops, testing::Not(testing::Contains(gone)));
}

TEST_F(FirstLayerFusionTest, LeavesALayerOfWhichSomebodyNeedsTheInside) {
  const auto grads = gradients(reduce_sum(square(pooled)), {filter, bias, images});
  EXPECT_THAT(ops_of(fuse_to({pooled, active})), UnorderedElementsAre("fused_conv2d", "max_pool"));
  EXPECT_THAT(ops_of(fuse_to({grads[0].dense(), grads[2].dense()})),
              testing::Not(testing::Contains("fused_conv_bias_relu_pool_grad")))
      << "the gradient of the images goes through the layer";
}

TEST_F(FusionTest, LeavesWhatSomebodyElseNeeds) {
  const auto product = matmul(x, w);
  const auto sum = bias_add(product, b);
  EXPECT_THAT(ops_of(fuse_to({relu(sum), product})),
              UnorderedElementsAre("matmul", "bias_add", "relu"))
      << "the product is fetched";
}

TEST_F(FusionTest, LeavesTheReluOutWhenTheSumIsNeeded) {
  const auto sum = bias_add(matmul(x, w), b);
  EXPECT_THAT(ops_of(fuse_to({relu(sum), sum})), UnorderedElementsAre("fused_matmul", "relu"));
}

TEST_F(FusionTest, MakesOnePassOfTheGradientsOfReluAndBias) {
  const auto y = relu(bias_add(matmul(x, w), b));
  const auto grads = gradients(reduce_sum(square(y)), {w, b});
  auto ops = ops_of(fuse_to({grads[0].dense(), grads[1].dense()}));
  EXPECT_THAT(ops, testing::IsSupersetOf({"fused_matmul", "relu_bias_grad"}));
  for (const auto* gone : {"bias_add", "relu_grad", "bias_add_grad"})
    EXPECT_THAT(ops, testing::Not(testing::Contains(gone)));
}

TEST_F(FusionTest, KeepsTheGradientOfAReluWithoutABias) {
  const auto grads = gradients(reduce_sum(square(relu(matmul(x, w)))), {w});
  EXPECT_THAT(ops_of(fuse_to({grads[0].dense()})), testing::Contains("relu_grad"));
}

/// Convolution, bias, ReLU and pooling that no kernel does in one.
class PoolingFusionTest : public FusionTest {
 protected:
  static bool has(const std::vector<std::string>& ops, const std::string& op) {
    return std::ranges::find(ops, op) != ops.end();
  }

  Output images = input("images", {2, 9, 9, 3});
  Output filter = input("filter", {3, 3, 3, 7});
  Output bias = input("bias", {7});
  Output active = relu(bias_add(conv2d(images, filter), bias));
  Output pooled = max_pool(active, {.window = {3, 3}, .strides = {2, 2}});
  Output loss = reduce_sum(square(pooled));
};

TEST_F(PoolingFusionTest, RemembersTheWinnersForTheWayBack) {
  const auto grads = gradients(loss, {filter, bias});
  const auto ops = ops_of(fuse_to({grads[0].dense(), grads[1].dense()}));
  for (const auto* there : {"max_pool_winners", "max_pool_winners_grad",
                            "max_pool_winners_bias_grad", "conv2d_backprop_filter"})
    EXPECT_TRUE(has(ops, there)) << there;
  for (const auto* gone : {"max_pool", "max_pool_grad", "relu_grad", "bias_add_grad"})
    EXPECT_FALSE(has(ops, gone)) << gone;
}

TEST_F(PoolingFusionTest, RemembersNothingWithoutAWayBack) {
  EXPECT_TRUE(has(ops_of(fuse_to({pooled})), "max_pool"));
}

TEST_F(PoolingFusionTest, LeavesTheReluToThoseWhoNeedTheGradientBeforeIt) {
  const auto grads = gradients(loss, {active, bias});
  const auto ops = ops_of(fuse_to({grads[0].dense(), grads[1].dense()}));
  EXPECT_TRUE(has(ops, "max_pool_winners_grad"));
  EXPECT_TRUE(has(ops, "relu_bias_grad"));
}

TEST_F(PoolingFusionTest, WorksWithoutARelu) {
  const auto y = max_pool(tanh(images));
  const auto grads = gradients(reduce_sum(square(y)), {images});
  const auto lowered = fuse_to({y, grads[0].dense()});
  const auto ops = ops_of(lowered);
  EXPECT_TRUE(has(ops, "max_pool_winners"));
  EXPECT_TRUE(has(ops, "tanh_grad"));
  EXPECT_EQ(lowered.fetches[0].node().op->name, "max_pool_winners");
}

TEST_F(PoolingFusionTest, LeavesAWindowOfTooManyPlaces) {
  const auto large = input("large", {1, 20, 20, 3});
  const auto y = max_pool(large, {.window = {17, 17}});
  const auto grads = gradients(reduce_sum(square(y)), {large});
  EXPECT_TRUE(has(ops_of(fuse_to({grads[0].dense()})), "max_pool_grad"));
}

TEST_F(FusionTest, LeavesWhatOthersMustRunAfter) {
  const auto product = matmul(x, w);
  const ControlScope after(*graph, {product});
  const auto late = exp(x);
  EXPECT_THAT(ops_of(fuse_to({late, bias_add(product, b)})),
              UnorderedElementsAre("matmul", "bias_add", "exp"));
}

}  // namespace
}  // namespace troupe
