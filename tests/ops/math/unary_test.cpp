#include "troupe/ops/elementwise.h"

#include <gtest/gtest.h>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/named.h"
#include "support/threads.h"

namespace troupe::test {
namespace {

using UnaryOp = Output (*)(Output);

class Unary : public testing::TestWithParam<Named<UnaryOp>> {};

INSTANTIATE_TEST_SUITE_P(
    Ops, Unary,
    testing::Values(Named<UnaryOp>{"exp", exp}, Named<UnaryOp>{"log", log},
                    Named<UnaryOp>{"log1p", log1p}, Named<UnaryOp>{"sqrt", sqrt},
                    Named<UnaryOp>{"rsqrt", rsqrt}, Named<UnaryOp>{"square", square},
                    Named<UnaryOp>{"abs", abs}, Named<UnaryOp>{"neg", neg},
                    Named<UnaryOp>{"reciprocal", reciprocal}, Named<UnaryOp>{"tanh", tanh},
                    Named<UnaryOp>{"sigmoid", sigmoid}, Named<UnaryOp>{"relu", relu},
                    Named<UnaryOp>{"relu6", relu6}, Named<UnaryOp>{"elu", elu},
                    Named<UnaryOp>{"softplus", softplus}, Named<UnaryOp>{"softsign", softsign},
                    Named<UnaryOp>{"sin", sin}, Named<UnaryOp>{"cos", cos},
                    Named<UnaryOp>{"erf", erf}),
    name_of<UnaryOp>);

TEST_P(Unary, IsWhatTensorFlowComputes) {
  check_references("elementwise_unary.txt", GetParam().name,
                   [](auto& x, auto&) { return GetParam().function(x[0]); });
}

TEST_P(Unary, HasTheGradientThatFiniteDifferencesMeasure) {
  // Positive, for the logarithm and the roots, and away from the kinks at 0 and 6.
  const auto x = Tensor::of<double>({2, 3}, {0.3, 1.7, 0.9, 2.5, 6.4, 0.05});
  check_gradient([](auto& in) { return GetParam().function(in[0]); }, {x}, {.declared = {{-1, 3}}});
}

class Rounding : public testing::TestWithParam<Named<UnaryOp>> {};

INSTANTIATE_TEST_SUITE_P(Ops, Rounding,
                         testing::Values(Named<UnaryOp>{"floor", floor},
                                         Named<UnaryOp>{"ceil", ceil},
                                         Named<UnaryOp>{"round", round}),
                         name_of<UnaryOp>);

TEST_P(Rounding, IsWhatTensorFlowComputes) {
  check_references("elementwise_unary.txt", GetParam().name,
                   [](auto& x, auto&) { return GetParam().function(x[0]); });
}

TEST(LeakyRelu, IsWhatTensorFlowComputes) {
  // TensorFlow keeps the slope as a float32 for values of float64 too.
  const Tolerance tolerance{.float64 = 1e-7};
  check_references(
      "elementwise_unary.txt", "leaky_relu",
      [](auto& x, auto& reference) { return leaky_relu(x[0], reference.number("alpha")); },
      tolerance);
}

TEST(LeakyRelu, HasTheGradientThatFiniteDifferencesMeasure) {
  check_gradient([](auto& x) { return leaky_relu(x[0], 0.3); }, {random_values({3, 5}, 4)});
}

TEST(Sign, IsWhatTensorFlowComputes) {
  for (const auto& reference : read_references(TROUPE_TEST_DATA "/elementwise_unary.txt")) {
    if (reference.op != "sign") continue;
    Graph g;
    EXPECT_EQ(run_graph(sign(constant(g, reference.tensor("in0")))), reference.tensor("out0"));
  }
}

TEST(ClipByValue, IsWhatTensorFlowComputes) {
  check_references("array.txt", "clip_by_value", [](auto& x, auto& reference) {
    return clip_by_value(x[0], reference.number("min"), reference.number("max"));
  });
}

TEST(ClipByValue, RefusesBoundsTheWrongWayRound) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {2});
  EXPECT_EQ(message_of([&] { clip_by_value(x, 1, 0); }),
            "node 'clip_by_value' (clip_by_value): min is 1 and max is 0, but min must not be "
            "above max");
}

TEST(Elementwise, GivesTheSameBitsWithAnyNumberOfThreads) {
  Graph g;
  const auto x = constant(g, random_values({300'007}, 1, 0, 1, DType::float32));
  Threads threads(3);
  for (const auto& y : {exp(x), tanh(x), sigmoid(x), softplus(x), elu(x), x * x + x, log(abs(x))})
    EXPECT_TRUE(same_bits(run_graph(y), run_graph(y, {}, 0, threads))) << y.name();
}

TEST(Elementwise, RefusesDtypesThatMakeNoSense) {
  Graph g;
  const auto flags = placeholder(g, "flags", DType::boolean, {2});
  const auto counts = placeholder(g, "counts", DType::int32, {2});
  EXPECT_EQ(message_of([&] { add(flags, flags); }),
            "node 'add' (add): input 0 is bool, but must be a number");
  EXPECT_EQ(message_of([&] { exp(counts); }),
            "node 'exp' (exp): input 0 is int32, but must be float32 or float64");
  EXPECT_EQ(message_of([&] { logical_and(counts, flags); }),
            "node 'logical_and' (logical_and): input 0 is int32, but must be bool");
}

}  // namespace
}  // namespace troupe::test
