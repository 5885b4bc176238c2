#include "troupe/ops/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/named.h"
#include "support/row.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;

using BinaryOp = Output (*)(Output, Output);

class Binary : public testing::TestWithParam<Named<BinaryOp>> {};

INSTANTIATE_TEST_SUITE_P(Ops, Binary,
                         testing::Values(Named<BinaryOp>{"add", add}, Named<BinaryOp>{"sub", sub},
                                         Named<BinaryOp>{"mul", mul}, Named<BinaryOp>{"div", div},
                                         Named<BinaryOp>{"maximum", maximum},
                                         Named<BinaryOp>{"minimum", minimum},
                                         Named<BinaryOp>{"pow", pow}, Named<BinaryOp>{"mod", mod},
                                         Named<BinaryOp>{"squared_difference", squared_difference}),
                         name_of<BinaryOp>);

TEST_P(Binary, IsWhatTensorFlowComputes) {
  check_references("elementwise_binary.txt", GetParam().name,
                   [](auto& x, auto&) { return GetParam().function(x[0], x[1]); });
}

TEST_P(Binary, HasTheGradientThatFiniteDifferencesMeasure) {
  struct Case {
    Shape a, b;
    std::vector<Shape> declared;
  };
  for (const auto& [a, b, declared] :
       {Case{{3, 4}, {3, 4}, {}}, Case{{3, 4}, {4}, {{-1, 4}, {4}}}, Case{{3, 1}, {1, 4}, {}},
        Case{{}, {2, 3}, {}}, Case{{2, 1, 3}, {4, 1}, {{-1, -1, 3}, {-1, -1}}},
        Case{{3, 4}, {3, 4}, {{-1, -1}, {-1, -1}}}, Case{{1, 4}, {3, 4}, {{-1, 4}, {-1, 4}}}}) {
    SCOPED_TRACE(text(a, " with ", b));
    // Uniform and positive; a finite difference must not cross a whole quotient or a tie.
    const auto x = evaluate(init::uniform(0.3, 2), DType::float64, a, "a", 1);
    const auto y = evaluate(init::uniform(0.3, 2), DType::float64, b, "b", 2);
    check_gradient([](auto& in) { return GetParam().function(in[0], in[1]); }, {x, y},
                   {.declared = declared});
  }
}

TEST(IntegerArithmetic, WrapsAroundInsteadOfTrapping) {
  Graph g;
  const auto a = constant(g, row<std::int32_t>({INT32_MIN, INT32_MIN, INT32_MAX, -7, 7}));
  const auto b = constant(g, row<std::int32_t>({-1, 1, 2, 2, -2}));
  EXPECT_THAT(run_graph(div(a, b)).read<std::int32_t>(),
              ElementsAre(INT32_MIN, INT32_MIN, INT32_MAX / 2, -3, -3));
  EXPECT_THAT(run_graph(floor_div(a, b)).read<std::int32_t>(),
              ElementsAre(INT32_MIN, INT32_MIN, INT32_MAX / 2, -4, -4));
  EXPECT_THAT(run_graph(mod(a, b)).read<std::int32_t>(), ElementsAre(0, 0, 1, 1, -1));
  EXPECT_THAT(run_graph(add(a, b)).read<std::int32_t>(),
              ElementsAre(INT32_MAX, INT32_MIN + 1, INT32_MIN + 1, -5, 5));
  EXPECT_THAT(run_graph(mul(a, b)).read<std::int32_t>(),
              ElementsAre(INT32_MIN, INT32_MIN, -2, -14, -14));
  EXPECT_THAT(run_graph(-a).read<std::int32_t>(),
              ElementsAre(INT32_MIN, INT32_MIN, -INT32_MAX, 7, -7));
  EXPECT_THAT(run_graph(abs(a)).read<std::int32_t>()[0], INT32_MIN);
  const auto least = constant(g, row<std::int64_t>({INT64_MIN}));
  const auto minus_one = constant(g, row<std::int64_t>({-1}));
  EXPECT_THAT(run_graph(div(least, minus_one)).read<std::int64_t>(), ElementsAre(INT64_MIN));
  EXPECT_THAT(run_graph(mod(least, minus_one)).read<std::int64_t>(), ElementsAre(0));
  const auto bytes = constant(g, row<std::uint8_t>({250, 3, 20}));
  EXPECT_THAT(run_graph(add(bytes, bytes)).read<std::uint8_t>(), ElementsAre(244, 6, 40));
  EXPECT_THAT(run_graph(sub(bytes, add(bytes, bytes))).read<std::uint8_t>(),
              ElementsAre(6, 253, 236));
}

TEST(IntegerArithmetic, SaysWhoDividesByZeroAndWhere) {
  Graph g;
  const auto a = constant(g, row<std::int64_t>({1, 2, 3}));
  const auto b = constant(g, row<std::int64_t>({1, 0, 0}));
  for (const auto& [op, y] : {std::pair("div", div(a, b)), std::pair("floor_div", floor_div(a, b)),
                              std::pair("mod", mod(a, b))})
    EXPECT_EQ(message_of([&, y = y] { run_graph(y); }),
              text("node '", op, "' (", op,
                   "): an integer is divided by zero (value 1 of the right operand)"));
  EXPECT_EQ(message_of([&] {
              run_graph(pow(a, constant(g, row<std::int64_t>({2, 1, -1}))));
            }),
            "node 'pow' (pow): an integer has a negative exponent (value 2 of the right operand)");
}

TEST(IntegerArithmetic, RaisesToPowers) {
  Graph g;
  const auto a = constant(g, row<std::int32_t>({3, -2, 0, 10, 2}));
  const auto b = constant(g, row<std::int32_t>({4, 3, 0, 9, 31}));
  EXPECT_THAT(run_graph(pow(a, b)).read<std::int32_t>(),
              ElementsAre(81, -8, 1, 1'000'000'000, INT32_MIN));
}

TEST(FloatArithmetic, DividesByZeroAsIeeeDoes) {
  Graph g;
  const auto y =
      run_graph(div(constant(g, row<float>({1, -1, 0})), constant(g, row<float>({0, 0, 0}))));
  EXPECT_EQ(y.at(0), HUGE_VAL);
  EXPECT_EQ(y.at(1), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(y.at(2)));
}

TEST(FloatArithmetic, KeepsNaNInMaximumAndMinimum) {
  Graph g;
  for (const auto& nan : {row<float>({NAN, 1}), row<float>({1, NAN})}) {
    const auto a = constant(g, nan);
    const auto b = constant(g, row<float>({0, 2}));
    const std::int64_t at = std::isnan(nan.at(0)) ? 0 : 1;
    for (const auto& y : {maximum(a, b), maximum(b, a), minimum(a, b), minimum(b, a), relu(a),
                          relu6(a), leaky_relu(a), clip_by_value(a, -1, 1)})
      EXPECT_TRUE(std::isnan(run_graph(y).at(at))) << y.name();
  }
}

TEST(Operators, TakeNumbersOfTheDtypeOfTheOtherOperand) {
  Graph g;
  const auto x = constant(g, row<double>({1, 2}));
  EXPECT_THAT(run_graph(2 * x + 1).read<double>(), ElementsAre(3, 5));
  EXPECT_THAT(run_graph(1 - x / 2).read<double>(), ElementsAre(0.5, 0));
  EXPECT_THAT(run_graph(-(1 / x) * x).read<double>(), ElementsAre(-1, -1));
  EXPECT_THAT(run_graph(x - 1 + x * x).read<double>(), ElementsAre(1, 5));
  const auto i = constant(g, row<std::int32_t>({5, 6}));
  EXPECT_THAT(run_graph(i / 2).read<std::int32_t>(), ElementsAre(2, 3));
}

TEST(AddN, SumsInOrderWhereverItWrites) {
  Graph g;
  OutputList terms;
  for (std::uint64_t i = 0; i < 5; ++i)
    terms.push_back(constant(g, random_values({3000}, i, 0, 1, DType::float32)));
  const auto sum = run_graph(add_n(terms));  // the interpreter also runs it over each term
  EXPECT_FLOAT_EQ(
      static_cast<float>(sum.at(2999)),
      static_cast<float>(run_graph(terms[0] + terms[1] + terms[2] + terms[3] + terms[4]).at(2999)));
  EXPECT_EQ(run_graph(add_n({terms[0]})), run_graph(terms[0]));
  EXPECT_EQ(run_graph(add_n({terms[0], terms[1]})), run_graph(terms[0] + terms[1]));
  EXPECT_THROW(add_n({}), Error);
}

TEST(AddN, HasTheGradientThatFiniteDifferencesMeasure) {
  check_gradient([](auto& x) { return add_n(x); },
                 {random_values({2, 3}, 1), random_values({2, 3}, 2), random_values({2, 3}, 3)});
}

}  // namespace
}  // namespace troupe::test
