#include "troupe/ops/nn/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/check_gradient.h"
#include "support/interpreter.h"
#include "troupe/ops/nn/losses.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;

std::vector<std::string> variables_of(Graph& graph) {
  std::vector<std::string> names;
  for (const auto& v : graph.variables()) names.push_back(text(v.name(), ' ', v.spec().shape));
  return names;
}

TEST(HeadlineCnn, IsTheModelOfTheHeadlineProgram) {
  Graph g;
  const auto images = placeholder(g, "images", DType::float32, {-1, 20, 195, 1});
  EXPECT_EQ(nn::headline_cnn(images, true).shape(), (Shape{-1, 15}));
  EXPECT_THAT(variables_of(g),
              ElementsAre("conv1/weights [3, 30, 1, 5]", "conv1/biases [5]",
                          "conv2/weights [2, 2, 5, 5]", "conv2/biases [5]",
                          "fully_connected/weights [160, 20]", "fully_connected/biases [20]",
                          "identity/weights [20, 15]", "identity/biases [15]"));
  EXPECT_EQ(g.regularizers().size(), 4U);
  EXPECT_EQ(initial_value(g.variables()[3], 1), Tensor::filled(DType::float32, {5}, 0.1));
}

TEST(Lenet, IsTheCnnForFashionMnist) {
  Graph g;
  const auto images = placeholder(g, "images", DType::float32, {-1, 28, 28, 1});
  EXPECT_EQ(nn::lenet(images, true).shape(), (Shape{-1, 10}));
  EXPECT_THAT(variables_of(g), ElementsAre("conv1/weights [5, 5, 1, 32]", "conv1/biases [32]",
                                           "conv2/weights [5, 5, 32, 64]", "conv2/biases [64]",
                                           "fc1/weights [3136, 1024]", "fc1/biases [1024]",
                                           "fc2/weights [1024, 10]", "fc2/biases [10]"));
}

TEST(Cifar10Cnn, IsTheModelOfTheTutorial) {
  Graph g;
  const auto images = placeholder(g, "images", DType::float32, {-1, 24, 24, 3});
  EXPECT_EQ(nn::cifar10_cnn(images).shape(), (Shape{-1, 10}));
  EXPECT_THAT(
      variables_of(g),
      ElementsAre("conv1/weights [5, 5, 3, 64]", "conv1/biases [64]",
                  "conv2/weights [5, 5, 64, 64]", "conv2/biases [64]", "local3/weights [2304, 384]",
                  "local3/biases [384]", "local4/weights [384, 192]", "local4/biases [192]",
                  "softmax_linear/weights [192, 10]", "softmax_linear/biases [10]"));
  EXPECT_EQ(g.regularizers().size(), 2U);
}

TEST(Mlp, IsTwoHiddenLayersAndOneOfClasses) {
  Graph g;
  const auto rows = placeholder(g, "rows", DType::float32, {-1, 784});
  EXPECT_EQ(nn::mlp(rows).shape(), (Shape{-1, 10}));
  EXPECT_THAT(variables_of(g), ElementsAre("fc1/weights [784, 2048]", "fc1/biases [2048]",
                                           "fc2/weights [2048, 2048]", "fc2/biases [2048]",
                                           "fc3/weights [2048, 10]", "fc3/biases [10]"));
}

/// Moves all variables a little against their gradient and expects the loss of
/// the same batch to fall by about as much as the gradient says.
void expect_descent(Graph& g, Output loss, std::map<std::string, Tensor> feeds) {
  loss = nn::total_loss(loss);
  OutputList values;
  for (const auto& v : g.variables()) values.push_back(v.read());
  OutputList fetches{loss};
  for (const auto& gradient : gradients(loss, values)) fetches.push_back(gradient.dense());
  const auto at = run_graph(fetches, feeds, 3);

  double norm = 0;
  for (std::size_t i = 1; i < at.size(); ++i)
    for (const auto value : at[i].read<float>()) norm += double{value} * value;
  const auto step = 0.01 * at[0].item() / norm;  // the loss should fall by a hundredth
  for (std::size_t i = 1; i < at.size(); ++i) {
    auto moved = initial_value(g.variables()[i - 1], 3);
    const auto gradient = at[i].read<float>();
    auto values = moved.write<float>();
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k] -= static_cast<float>(step * gradient[k]);
    feeds[g.variables()[i - 1].name()] = moved;
  }
  EXPECT_NEAR(run_graph(loss, feeds, 3).item() / at[0].item(), 0.99, 0.003);
}

TEST(Models, AreDescendedByTheirGradients) {
  const auto labels = Tensor::of<std::int32_t>({4}, {3, 1, 4, 1});
  const auto check = [&](const Shape& shape, auto build) {
    Graph g;
    const auto x = placeholder(g, "x", DType::float32, shape);
    const auto t = placeholder(g, "labels", DType::int32, {-1});
    expect_descent(g, nn::cross_entropy(build(x), t),
                   {{"x", random_values(shape, 1, 0, 1, DType::float32)}, {"labels", labels}});
  };
  check({4, 28, 28, 1}, [](Output x) { return nn::lenet(x, true); });
  check({4, 24, 24, 3}, [](Output x) { return nn::cifar10_cnn(x); });
  check({4, 50}, [](Output x) { return nn::mlp(x, 64); });

  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {4, 20, 195, 1});
  const auto t = placeholder(g, "targets", DType::float32, {4, 15});
  expect_descent(g, nn::root_mean_squared_error(nn::headline_cnn(x, true), t),
                 {{"x", random_values({4, 20, 195, 1}, 1, 0, 1, DType::float32)},
                  {"targets", random_values({4, 15}, 2, 0, 1, DType::float32)}});
}

}  // namespace
}  // namespace troupe::test
