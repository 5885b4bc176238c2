#include "troupe/ops/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/threads.h"
#include "troupe/ops/reductions.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(SoftmaxCrossEntropy, IsWhatTensorFlowComputes) {
  check_references("losses.txt", "softmax_cross_entropy",
                   [](auto& x, auto&) { return softmax_cross_entropy(x[0], x[1]); });
}

TEST(SoftmaxCrossEntropy, IgnoresAnImpossibleClassThatHasNoLabel) {
  Graph g;
  const auto logits = constant(g, Tensor::of<float>({1, 2}, {-kInf, 3}));
  const auto labels = constant(g, Tensor::of<float>({1, 2}, {0, 1}));
  EXPECT_EQ(run_graph(softmax_cross_entropy(logits, labels)).item(), 0);
}

TEST(SoftmaxCrossEntropy, SaysWhichShapesDiffer) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 10});
  const auto y = placeholder(g, "y", DType::float32, {-1, 7});
  EXPECT_EQ(message_of([&] { softmax_cross_entropy(x, y); }),
            "node 'softmax_cross_entropy' (softmax_cross_entropy): the logits have shape [?, 10], "
            "but the labels [?, 7]");
}

TEST(SparseSoftmaxCrossEntropy, IsWhatTensorFlowComputes) {
  check_references("losses.txt", "sparse_softmax_cross_entropy",
                   [](auto& x, auto&) { return sparse_softmax_cross_entropy(x[0], x[1]); });
}

TEST(SparseSoftmaxCrossEntropy, NamesTheRowAndTheLabelThatHasNoClass) {
  Graph g;
  const auto logits = constant(g, Tensor(DType::float32, {3, 10}));
  for (const std::int64_t bad : {std::int64_t{10}, std::int64_t{-1}, INT64_MIN, INT64_MAX}) {
    const auto labels = constant(g, Tensor::of<std::int64_t>({3}, {0, bad, 2}));
    const auto loss = named(text("loss_of_", bad), sparse_softmax_cross_entropy(logits, labels));
    EXPECT_EQ(message_of([&] { run_graph(loss); }),
              text("node 'loss_of_", bad, "' (sparse_softmax_cross_entropy): row 1 has label ", bad,
                   ", but there are 10 classes: [0, 10)"));
  }
}

TEST(SparseSoftmaxCrossEntropy, WantsIntegerLabelsOnePerRow) {
  Graph g;
  const auto logits = placeholder(g, "logits", DType::float32, {-1, 10});
  EXPECT_EQ(message_of([&] {
              sparse_softmax_cross_entropy(logits, placeholder(g, "a", DType::float32, {-1}));
            }),
            "node 'sparse_softmax_cross_entropy' (sparse_softmax_cross_entropy): the labels are "
            "float32, but must be int32 or int64; use cast, or softmax_cross_entropy for "
            "probabilities");
  EXPECT_EQ(message_of([&] {
              sparse_softmax_cross_entropy(logits, placeholder(g, "b", DType::int32, {-1, 1}));
            }),
            "node 'sparse_softmax_cross_entropy' (sparse_softmax_cross_entropy): the labels have "
            "shape [?, 1], but logits [?, 10] need one label per row: [?]");
}

TEST(SparseSoftmaxCrossEntropy, TakesMoreAxesThanTwoAndNoRowsAtAll) {
  Graph g;
  const auto deep = sparse_softmax_cross_entropy(constant(g, Tensor(DType::float64, {2, 3, 4})),
                                                 constant(g, Tensor(DType::int32, {2, 3})));
  const auto loss = run_graph(deep);
  EXPECT_EQ(loss.shape(), (Shape{2, 3}));
  EXPECT_NEAR(loss.at(5), std::log(4), 1e-15);
  const auto empty = sparse_softmax_cross_entropy(constant(g, Tensor(DType::float32, {0, 4})),
                                                  constant(g, Tensor(DType::int32, {0})));
  EXPECT_EQ(run_graph(empty).shape(), Shape{0});
}

TEST(SparseSoftmaxCrossEntropy, GivesTheSameBitsOnManyThreads) {
  Graph g;
  const Shape shape{2000, 33};
  const auto logits = constant(g, evaluate(init::normal(0, 3), DType::float32, shape, "logits", 1));
  const auto labels =
      constant(g, evaluate(init::uniform(0, 33), DType::int32, {2000}, "labels", 1));
  const auto loss = sparse_softmax_cross_entropy(logits, labels);
  Threads threads(4);
  EXPECT_TRUE(same_bits(run_graph(loss), run_graph(loss, {}, 0, threads)));
}

TEST(SigmoidCrossEntropy, IsWhatTensorFlowComputes) {
  check_references("losses.txt", "sigmoid_cross_entropy",
                   [](auto& x, auto&) { return sigmoid_cross_entropy(x[0], x[1]); });
}

TEST(Huber, IsSquaredNearTheTargetAndStraightFarFromIt) {
  Graph g;
  const auto predictions = constant(g, Tensor::of<double>({4}, {1, 1.5, 4, -4}));
  const auto targets = constant(g, Tensor::of<double>({4}, {1, 1, 1, 1}));
  EXPECT_THAT(run_graph(huber(predictions, targets, 2)).read<double>(),
              ElementsAre(0, 0.125, 4, 8));
  check_gradient([](auto& x) { return huber(x[0], x[1], 0.5); },
                 {random_values({3, 4}, 1), random_values({3, 4}, 2)});
}

TEST(LossGradients, AreWhatFiniteDifferencesMeasure) {
  const auto logits = random_values({3, 4}, 1);
  const auto targets = random_values({3, 4}, 2, 0.25, 0.1);
  const auto labels = Tensor::of<std::int32_t>({3}, {3, 0, 1});
  for (const GradientCheck& extents :
       {GradientCheck{}, GradientCheck{.declared = {{-1, -1}, {-1, -1}}}}) {
    check_gradient([](auto& x) { return softmax_cross_entropy(x[0], x[1]); }, {logits, targets},
                   extents);
    check_gradient([](auto& x) { return sigmoid_cross_entropy(x[0], x[1]); }, {logits, targets},
                   extents);
  }
  for (const GradientCheck& extents :
       {GradientCheck{}, GradientCheck{.declared = {{-1, -1}, {-1}}}})
    check_gradient([](auto& x) { return sparse_softmax_cross_entropy(x[0], x[1]); },
                   {logits, labels}, extents);
}

TEST(LossGradients, NameTheLabelThatHasNoClass) {
  Graph g;
  const auto logits = constant(g, Tensor(DType::float32, {1, 3}));
  const auto labels = constant(g, Tensor::of<std::int32_t>({1}, {3}));
  auto& loss = sparse_softmax_cross_entropy(logits, labels).node();
  const auto dx = loss.op->gradient(Backward(loss, {constant(g, Tensor(DType::float32, {1}))}));
  EXPECT_EQ(message_of([&] { run_graph(dx[0].dense()); }),
            "node 'sparse_softmax_cross_entropy_grad' (sparse_softmax_cross_entropy_grad): row 0 "
            "has label 3, but there are 3 classes: [0, 3)");
}

TEST(InTopK, CountsTiesInFavourOfTheTargetAndNeverFailsOnHostileTargets) {
  Graph g;
  const auto scores =
      constant(g, Tensor::of<float>({5, 3}, {1, 2, 2, 1, 2, 3, 1, 2, 3, NAN, 1, 2, 1, 2, kInf}));
  const auto targets = constant(g, Tensor::of<std::int64_t>({5}, {1, 1, INT64_MAX, 0, 2}));
  EXPECT_THAT(run_graph(in_top_k(scores, targets, 1)).read<bool>(),
              ElementsAre(true, false, false, false, false));
}

}  // namespace
}  // namespace troupe::test
