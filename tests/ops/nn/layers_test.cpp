#include "troupe/ops/nn/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/interpreter.h"
#include "support/message_of.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/metrics.h"
#include "troupe/ops/reductions.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

std::vector<std::string> variables_of(Graph& graph) {
  std::vector<std::string> names;
  for (const auto& v : graph.variables())
    names.push_back(text(v.name(), ' ', v.spec().shape, v.trainable() ? "" : " fixed"));
  return names;
}

TEST(Dense, MultipliesAddsAndActivates) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 2});
  const auto y = nn::dense(x, 3, {.name = "fc", .activation = relu});
  EXPECT_THAT(variables_of(g), ElementsAre("fc/weights [2, 3]", "fc/biases [3]"));
  EXPECT_EQ(y.shape(), (Shape{-1, 3}));
  const std::map<std::string, Tensor> feeds{
      {"x", Tensor::of<float>({1, 2}, {1, 10})},
      {"fc/weights", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, -6})},
      {"fc/biases", Tensor::of<float>({3}, {0.5, 1.5, 2.5})}};
  EXPECT_THAT(run_graph(y, feeds).read<float>(), ElementsAre(41.5, 53.5, 0));
}

TEST(Layers, AreNamedAfterTheirKindInOrder) {
  Graph g;
  auto x = placeholder(g, "x", DType::float32, {-1, 6, 6, 2});
  x = nn::conv2d(x, 3, {2, 2}, {.use_bias = false});
  x = nn::conv2d(x, 4, {1, 1}, {.use_bias = false});
  x = nn::depthwise_conv2d(x, {3, 3}, {.strides = {2, 2}, .padding = Padding::same}, 2);
  x = nn::batch_norm(x, false);
  EXPECT_EQ(x.shape(), (Shape{-1, 3, 3, 8}));
  x = nn::dense(nn::dense(flatten(x), 5), 1);
  EXPECT_THAT(
      variables_of(g),
      ElementsAre("conv2d/weights [2, 2, 2, 3]", "conv2d_1/weights [1, 1, 3, 4]",
                  "depthwise_conv2d/weights [3, 3, 4, 2]", "depthwise_conv2d/biases [8]",
                  "batch_norm/beta [8]", "batch_norm/gamma [8]", "batch_norm/moving_mean [8] fixed",
                  "batch_norm/moving_variance [8] fixed", "dense/weights [72, 5]",
                  "dense/biases [5]", "dense_1/weights [5, 1]", "dense_1/biases [1]"));
}

TEST(Layers, OfOneNameShareVariablesAndDecayThemOnce) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 4});
  const auto a = nn::dense(x, 4, {.name = "fc", .l2 = 0.5});
  nn::dense(a, 4, {.name = "fc", .l2 = 0.5});
  EXPECT_THAT(variables_of(g), ElementsAre("fc/weights [4, 4]", "fc/biases [4]"));
  ASSERT_EQ(g.regularizers().size(), 1U);
  const std::map<std::string, Tensor> feeds{
      {"fc/weights", Tensor::filled(DType::float32, {4, 4}, 2)}};
  EXPECT_EQ(run_graph(g.regularizers()[0], feeds).item(), 0.5 * 16 * 4 / 2);
}

TEST(Layers, StandInTheScopeWhereTheyAreBuilt) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 4});
  const NameScope tower(g, "tower_1");
  nn::dense(x, 1);
  nn::dense(x, 1);
  EXPECT_THAT(variables_of(g),
              ElementsAre("tower_1/dense/weights [4, 1]", "tower_1/dense/biases [1]",
                          "tower_1/dense_1/weights [4, 1]", "tower_1/dense_1/biases [1]"));
}

TEST(Layers, SayWhichInputTheyNeed) {
  Graph g;
  const auto images = placeholder(g, "images", DType::float32, {-1, 4, 4, -1});
  const auto rows = placeholder(g, "rows", DType::float32, {-1, -1});
  EXPECT_EQ(message_of([&] { nn::dense(images, 3, {.name = "fc"}); }),
            "layer 'fc': the input has shape [?, 4, 4, ?], but needs 2 axes: [batch, features]; "
            "use flatten");
  EXPECT_EQ(message_of([&] { nn::dense(rows, 3); }),
            "layer 'dense': the input has shape [?, ?], but its last extent must be known");
  EXPECT_EQ(message_of([&] {
              nn::conv2d(rows, 3, {1, 1});
            }),
            "layer 'conv2d': the input has shape [?, ?], but needs 4 axes: [batch, height, width, "
            "channels]");
  EXPECT_EQ(
      message_of([&] { nn::batch_norm(images, true); }),
      "layer 'batch_norm': the input has shape [?, 4, 4, ?], but needs at least two axes, the "
      "last of known extent: [..., channels]");
}

TEST(BatchNormLayer, MovesItsAveragesTowardsTheBatch) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 2});
  const auto y = nn::batch_norm(x, true, {.name = "bn", .momentum = 0.75, .epsilon = 0});
  const std::map<std::string, Tensor> feeds{{"x", Tensor::of<float>({2, 2}, {1, 10, 3, 30})},
                                            {"bn/moving_mean", Tensor::of<float>({2}, {4, 8})}};
  EXPECT_THAT(run_graph(y, feeds).read<float>(),
              Pointwise(FloatNear(1e-6f), {-1.f, -1.f, 1.f, 1.f}));
  ASSERT_EQ(g.updates().size(), 2U);
  EXPECT_THAT(run_graph(g.updates()[0], feeds).read<float>(), ElementsAre(3.5, 11));
  EXPECT_THAT(run_graph(g.updates()[1], feeds).read<float>(), ElementsAre(1, 25.75));
}

TEST(BatchNormLayer, UsesItsAveragesOutsideTraining) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 2});
  const auto y = nn::batch_norm(x, false, {.name = "bn", .epsilon = 0, .center = false});
  EXPECT_TRUE(g.updates().empty());
  const std::map<std::string, Tensor> feeds{
      {"x", Tensor::of<float>({1, 2}, {1, 10})},
      {"bn/gamma", Tensor::of<float>({2}, {10, 100})},
      {"bn/moving_mean", Tensor::of<float>({2}, {3, 8})},
      {"bn/moving_variance", Tensor::of<float>({2}, {4, 16})}};
  EXPECT_THAT(run_graph(y, feeds).read<float>(), ElementsAre(-10, 50));
}

TEST(DropoutLayer, OnlyDropsInTraining) {
  Graph g;
  const auto x = constant(g, Tensor::filled(DType::float32, {100}, 1));
  EXPECT_EQ(nn::dropout(x, 0.5, false), x);
  const auto values = run_graph(nn::dropout(x, 0.5, true));
  const auto kept = values.read<float>();
  EXPECT_THAT(kept, testing::Each(testing::AnyOf(0, 2)));
  EXPECT_THAT(kept, testing::Contains(0));
  EXPECT_THAT(kept, testing::Contains(2));
}

TEST(Sequential, AppliesItsLayersInOrder) {
  Graph g;
  nn::Sequential model{nn::conv2d(4, {3, 3}, {.activation = relu}),
                       nn::batch_norm(false),
                       nn::max_pool(),
                       nn::avg_pool({.window = {2, 2}, .strides = {1, 1}}),
                       nn::depthwise_conv2d({1, 1}),
                       nn::flatten(),
                       nn::dropout(0.5, true),
                       nn::dense(10)};
  model.add([](Output x) { return x * 2; });
  EXPECT_EQ(model(placeholder(g, "x", DType::float32, {-1, 8, 8, 1})).shape(), (Shape{-1, 10}));
}

TEST(Losses, AreMeansOverTheBatch) {
  Graph g;
  const auto x = constant(g, Tensor::of<double>({2, 2}, {1, 2, 3, 4}));
  const auto t = constant(g, Tensor::of<double>({2, 2}, {1, 0, 3, 8}));
  EXPECT_EQ(run_graph(nn::mean_squared_error(x, t)).item(), 5);
  EXPECT_EQ(run_graph(nn::root_mean_squared_error(x, t)).item(), std::sqrt(5.0));
  const auto labels = constant(g, Tensor::of<std::int32_t>({2}, {0, 1}));
  const auto one_hot_labels = constant(g, Tensor::of<double>({2, 2}, {1, 0, 0, 1}));
  const auto wanted = (std::log(1 + std::exp(1.0)) + std::log(1 + std::exp(-1.0))) / 2;
  EXPECT_NEAR(run_graph(nn::cross_entropy(x, labels)).item(), wanted, 1e-12);
  EXPECT_NEAR(run_graph(nn::cross_entropy(x, one_hot_labels)).item(), wanted, 1e-12);
}

TEST(Losses, AddUpWithTheDecayOfTheLayers) {
  Graph g;
  const auto loss = constant(g, 1.0);
  EXPECT_EQ(nn::total_loss(loss), loss);
  const auto x = constant(g, Tensor(DType::float32, {1, 1}));
  nn::dense(x, 1, {.kernel_initializer = init::constant(2), .l2 = 0.5});
  nn::dense(x, 1, {.kernel_initializer = init::constant(4), .l2 = 0.25});
  EXPECT_EQ(run_graph(nn::total_loss(loss)).item(), 1 + 0.5 * 2 + 0.25 * 8);
}

TEST(Metrics, CountTheRowsThatAreRight) {
  Graph g;
  const auto logits = constant(g, Tensor::of<float>({4, 3}, {1, 2, 3,  //
                                                             3, 1, 2,  //
                                                             1, 3, 2,  //
                                                             3, 2, 1}));
  for (const auto type : {DType::int32, DType::int64}) {
    const auto labels = constant(g, Tensor::of<float>({4}, {2, 1, 2, 0}).cast(type));
    EXPECT_EQ(run_graph(nn::accuracy(logits, labels)).item(), 0.5);
    EXPECT_EQ(run_graph(nn::top_k_accuracy(logits, labels, 2)).item(), 0.75);
  }
}

}  // namespace
}  // namespace troupe::test
