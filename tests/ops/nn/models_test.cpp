#include "troupe/ops/nn/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/check_gradient.h"
#include "support/check_reference.h"
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

/// scale * sin(step * i + phase): what tests/data/op_references/models.py makes.
Tensor wave(DType type, const Shape& shape, double step, double phase = 0, double scale = 1) {
  Tensor values(DType::float64, shape);
  auto out = values.write<double>();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = scale * std::sin(step * static_cast<double>(i) + phase);
  return values.cast(type);
}

/// The loss, and of the gradient of each variable the sum and the sum of squares.
struct Summary {
  double loss = 0;
  std::vector<std::array<double, 2>> gradients;
};

/// `loss_of` builds a model on its input and gives its loss.
Summary summary_of(DType type, const Shape& shape, const std::function<Output(Output)>& loss_of) {
  Graph g;
  const auto x = placeholder(g, "x", type, shape);
  const auto loss = nn::total_loss(loss_of(x));
  std::map<std::string, Tensor> feeds{{"x", wave(type, shape, 0.3)}};
  OutputList variables;
  for (const auto& v : g.variables()) {
    const auto& extents = v.spec().shape;
    const auto fan_in = extents.rank() == 1 ? 10.0
                                            : static_cast<double>(extents.volume()) /
                                                  static_cast<double>(extents[-1]);
    feeds[v.name()] =
        wave(type, extents, 0.7, static_cast<double>(variables.size()), 1 / std::sqrt(fan_in));
    variables.push_back(v.read());
  }
  OutputList fetches{loss};
  for (const auto& gradient : gradients(loss, variables)) fetches.push_back(gradient.dense());
  const auto results = run_graph(fetches, feeds);

  Summary summary{results[0].item(), {}};
  for (std::size_t i = 1; i < results.size(); ++i) {
    double sum = 0;
    double squares = 0;
    for (std::int64_t k = 0; k < results[i].size(); ++k) {
      sum += results[i].at(k);
      squares += results[i].at(k) * results[i].at(k);
    }
    summary.gradients.push_back({sum, squares});
  }
  return summary;
}

void expect_reference(const std::string& model, const Shape& shape,
                      const std::function<Output(Output)>& loss_of) {
  SCOPED_TRACE(model);
  for (const auto& reference : read_references(std::string(TROUPE_TEST_DATA) + "/models.txt")) {
    if (reference.op != model) continue;
    const auto& wanted = reference.tensor("gradients");
    for (const auto type : {DType::float64, DType::float32}) {
      const auto got = summary_of(type, shape, loss_of);
      const double part = type == DType::float64 ? 1e-9 : 2e-4;
      EXPECT_NEAR(got.loss, reference.tensor("loss").item(), part);
      ASSERT_EQ(static_cast<std::int64_t>(got.gradients.size()), wanted.shape()[0]);
      for (std::int64_t k = 0; k < wanted.shape()[0]; ++k) {
        const auto size = std::sqrt(wanted.at(2 * k + 1));  // the sum may have cancelled to nothing
        EXPECT_NEAR(got.gradients[k][0], wanted.at(2 * k), 100 * part * size) << "variable " << k;
        EXPECT_NEAR(std::sqrt(got.gradients[k][1]), size, part * size) << "variable " << k;
      }
    }
    return;
  }
  ADD_FAILURE() << "no reference";
}

TEST(Models, HaveTheLossesAndGradientsOfTensorFlow) {
  const auto classify = [](Output logits) {
    const std::vector<std::int32_t> labels{3, 1, 4};
    const auto rows = logits.shape()[0];
    const auto some = Tensor::of<std::int32_t>({3}, labels).slice(0, rows);
    return nn::cross_entropy(logits, constant(logits.graph(), some));
  };
  expect_reference("lenet", {2, 28, 28, 1},
                   [&](Output x) { return classify(nn::lenet(x, false)); });
  expect_reference("cifar10", {2, 24, 24, 3},
                   [&](Output x) { return classify(nn::cifar10_cnn(x)); });
  expect_reference("mlp", {3, 50}, [&](Output x) { return classify(nn::mlp(x, 64)); });
  expect_reference("headline", {3, 20, 195, 1}, [](Output x) {
    const auto y = nn::headline_cnn(x, false);
    return nn::root_mean_squared_error(y, constant(x.graph(), wave(x.dtype(), y.shape(), 0.5)));
  });
}

TEST(Models, DropValuesInTrainingOnly) {
  const auto has_dropout = [](bool training) {
    Graph g;
    nn::lenet(placeholder(g, "lenet", DType::float32, {-1, 28, 28, 1}), training);
    const auto drops = [](const Node& node) { return node.op->name == "dropout"; };
    return std::ranges::any_of(g.nodes(), drops);
  };
  EXPECT_TRUE(has_dropout(true));
  EXPECT_FALSE(has_dropout(false));
}

}  // namespace
}  // namespace troupe::test
