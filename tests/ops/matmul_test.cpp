#include "troupe/ops/matmul.h"

#include <gtest/gtest.h>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/threads.h"

namespace troupe::test {
namespace {

Output product(const OutputList& x, const ReferenceCase& reference) {
  return matmul(
      x[0], x[1],
      {.transpose_a = reference.flag("transpose_a"), .transpose_b = reference.flag("transpose_b")});
}

Output fused(Output a, Output b, Output bias, const std::string& activation) {
  return a.graph().add("fused_matmul", {a, b, bias}, {{"activation", activation}}).output(0);
}

TEST(Matmul, HasTheValuesAndGradientsOfTensorFlow) {
  check_references("matmul.txt", "matmul", product);
}

TEST(Matmul, KnowsTheShapeOfABatchOfUnknownSize) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 4});
  const auto w = placeholder(g, "w", DType::float32, {4, 3});
  EXPECT_EQ(matmul(x, w).shape(), (Shape{-1, 3}));
  EXPECT_EQ(matmul(x, x, {.transpose_a = true}).shape(), (Shape{4, 4}));
  const auto stack = placeholder(g, "stack", DType::float32, {-1, 5, 4});
  const auto filters = placeholder(g, "filters", DType::float32, {7, 4, 2});
  EXPECT_EQ(matmul(stack, filters).shape(), (Shape{7, 5, 2}));
}

TEST(Matmul, OfNoRowsHasNoRows) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 40});
  const auto w = placeholder(g, "w", DType::float32, {40, 30});
  const auto dw = placeholder(g, "dy", DType::float32, {-1, 30});
  const std::map<std::string, Tensor> feeds{{"x", Tensor(DType::float32, {0, 40})},
                                            {"w", Tensor(DType::float32, {40, 30})},
                                            {"dy", Tensor(DType::float32, {0, 30})}};
  EXPECT_EQ(run_graph(matmul(x, w), feeds).shape(), (Shape{0, 30}));
  EXPECT_EQ(run_graph(matmul(x, dw, {.transpose_a = true}), feeds),
            Tensor(DType::float32, {40, 30}));
}

TEST(Matmul, DoesNotDependOnTheNumberOfThreads) {
  const struct {
    std::int64_t m, n, k;
  } sizes[] = {{33, 150, 1000}, {2000, 20, 160}, {700, 97, 300}, {1, 1000, 1000}, {256, 500, 33}};
  for (const auto& [m, n, k] : sizes)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        Graph g;
        const auto a = placeholder(g, "a", DType::float32, ta ? Shape{k, m} : Shape{m, k});
        const auto b = placeholder(g, "b", DType::float32, tb ? Shape{n, k} : Shape{k, n});
        const auto c = matmul(a, b, {.transpose_a = ta, .transpose_b = tb});
        const std::map<std::string, Tensor> feeds{
            {"a", random_values(a.shape(), 1, 0, 1, DType::float32)},
            {"b", random_values(b.shape(), 2, 0, 1, DType::float32)}};
        const auto alone = run_graph(c, feeds);
        for (const int threads : {2, 3, 7}) {
          Threads intra(threads);
          EXPECT_TRUE(same_bits(run_graph(c, feeds, 0, intra), alone))
              << a.shape() << (ta ? " transposed, by " : " by ") << b.shape()
              << (tb ? " transposed, " : ", ") << threads << " threads";
        }
      }
}

TEST(Matmul, ManySmallProductsRunOnSeveralThreads) {
  Graph g;
  const auto a = placeholder(g, "a", DType::float64, {50, 30, 20});
  const auto b = placeholder(g, "b", DType::float64, {50, 20, 40});
  const std::map<std::string, Tensor> feeds{{"a", random_values(a.shape(), 1)},
                                            {"b", random_values(b.shape(), 2)}};
  Threads intra(4);
  const auto c = run_graph(matmul(a, b), feeds, 0, intra);
  const auto last = run_graph(matmul(constant(g, feeds.at("a").slice(49, 50).reshape({30, 20})),
                                     constant(g, feeds.at("b").slice(49, 50).reshape({20, 40}))));
  expect_near(c.slice(49, 50).reshape({30, 40}), last, 1e-12, "the last product");
}

TEST(Matmul, SaysWhichSizesDoNotMeet) {
  Graph g;
  const auto a = placeholder(g, "a", DType::float32, {3, 4});
  const auto b = placeholder(g, "b", DType::float32, {5, 6});
  const auto d = placeholder(g, "d", DType::float64, {4, 6});
  const auto stack = placeholder(g, "stack", DType::float32, {2, 4, 3});
  const auto other = placeholder(g, "other", DType::float32, {3, 3, 4});
  EXPECT_EQ(message_of([&] { matmul(a, b, {.transpose_a = true}); }),
            "node 'matmul' (matmul): cannot multiply a of shape [3, 4] (transposed) by b of shape "
            "[5, 6]: a has 3 columns, but b has 5 rows");
  EXPECT_EQ(message_of([&] { matmul(a, d); }),
            "node 'matmul' (matmul): inputs 0 and 1 must have the same dtype, but are float32 and "
            "float64; use cast");
  EXPECT_EQ(message_of([&] { matmul(a, stack); }),
            "node 'matmul' (matmul): a has shape [3, 4] and b [2, 4, 3], but both need the same "
            "number of axes, at least two: [..., rows, columns]");
  EXPECT_EQ(message_of([&] { matmul(stack, other); }),
            "node 'matmul' (matmul): a has shape [2, 4, 3] and b [3, 3, 4], but the axes in front "
            "of the last two must agree");
}

TEST(FusedMatmul, AddsTheBiasAndCutsBelowZero) {
  for (const auto type : {DType::float32, DType::float64})
    for (const std::int64_t n : {3, 200}) {
      Graph g;
      const auto a = constant(g, random_values({64, 80}, 1, 0, 1, type));
      const auto b = constant(g, random_values({80, n}, 2, 0, 1, type));
      const auto bias = constant(g, random_values({n}, 3, 0, 9, type));
      Threads intra(3);
      const auto values = run_graph(
          {matmul(a, b), bias, fused(a, b, bias, "none"), fused(a, b, bias, "relu")}, {}, 0, intra);
      for (std::int64_t i = 0; i < values[0].size(); ++i) {
        const auto sum = values[0].at(i) + values[1].at(i % n);
        ASSERT_NEAR(values[2].at(i), sum, 1e-4);
        ASSERT_NEAR(values[3].at(i), std::max(0.0, sum), 1e-4);
      }
    }
}

TEST(FusedMatmul, RefusesABiasThatDoesNotFit) {
  Graph g;
  const auto a = constant(g, Tensor(DType::float32, {2, 3}));
  const auto b = constant(g, Tensor(DType::float32, {3, 4}));
  EXPECT_EQ(message_of([&] { fused(a, b, constant(g, Tensor(DType::float32, {3})), "relu"); }),
            "node 'fused_matmul' (fused_matmul): the bias has shape [3], but needs one value per "
            "column: [4]");
  EXPECT_EQ(message_of([&] { fused(a, b, constant(g, Tensor(DType::float32, {4})), "tanh"); }),
            "node 'fused_matmul' (fused_matmul): activation is 'tanh', but must be 'none' or "
            "'relu'");
}

}  // namespace
}  // namespace troupe::test
