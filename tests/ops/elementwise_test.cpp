#include "troupe/ops/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/threads.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;

using UnaryOp = Output (*)(Output);
using BinaryOp = Output (*)(Output, Output);

template <class Function>
struct Named {
  std::string name;
  Function function;
};
template <class Function>
std::string name_of(const testing::TestParamInfo<Named<Function>>& info) {
  return info.param.name;
}
template <class Function>
std::ostream& operator<<(std::ostream& out, const Named<Function>& named) {
  return out << named.name;
}

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

class Comparison : public testing::TestWithParam<Named<BinaryOp>> {};

INSTANTIATE_TEST_SUITE_P(Ops, Comparison,
                         testing::Values(Named<BinaryOp>{"equal", equal},
                                         Named<BinaryOp>{"not_equal", not_equal},
                                         Named<BinaryOp>{"less", less},
                                         Named<BinaryOp>{"less_equal", less_equal},
                                         Named<BinaryOp>{"greater", greater},
                                         Named<BinaryOp>{"greater_equal", greater_equal},
                                         Named<BinaryOp>{"logical_and", logical_and},
                                         Named<BinaryOp>{"logical_or", logical_or},
                                         Named<BinaryOp>{"floor_div", floor_div}),
                         name_of<BinaryOp>);

TEST_P(Comparison, IsWhatTensorFlowComputes) {
  check_references("elementwise_binary.txt", GetParam().name,
                   [](auto& x, auto&) { return GetParam().function(x[0], x[1]); });
}

template <class T>
Tensor row(std::initializer_list<T> values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
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

TEST(LogicalNot, IsWhatTensorFlowComputes) {
  check_references("elementwise_unary.txt", "logical_not",
                   [](auto& x, auto&) { return logical_not(x[0]); });
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

TEST(Select, IsWhatTensorFlowComputes) {
  check_references("array.txt", "select", [](auto& x, auto&) { return select(x[0], x[1], x[2]); });
}

TEST(Select, TakesScalars) {
  Graph g;
  const auto yes = constant(g, row<bool>({true, false}));
  const auto x = constant(g, row<float>({1, 2}));
  EXPECT_THAT(run_graph(select(yes, x, constant(g, 0.0))).read<float>(), ElementsAre(1, 0));
  EXPECT_THAT(
      run_graph(select(constant(g, Tensor::scalar(false)), constant(g, 7.0), x)).read<float>(),
      ElementsAre(1, 2));
  check_gradient(
      [](auto& in) {
        return select(greater(in[0], constant(in[0].graph(), 0, DType::float64)), in[0], in[1]);
      },
      {random_values({5}, 1), random_values({}, 2)}, {.declared = {{-1}, {}}});
}

TEST(Select, SaysWhichShapesDiffer) {
  Graph g;
  const auto yes = placeholder(g, "yes", DType::boolean, {2});
  const auto x = placeholder(g, "x", DType::float32, {3});
  EXPECT_EQ(message_of([&] { select(yes, x, x); }),
            "node 'select' (select): input 1 has shape [3], but another has [2]; all must be "
            "equal, or scalars");
  EXPECT_EQ(message_of([&] { select(x, x, x); }),
            "node 'select' (select): the condition is float32, but must be bool");
}

TEST(Cast, IsWhatTensorFlowComputes) {
  check_references("array.txt", "cast", [](auto& x, auto& reference) {
    return cast(x[0], parse_dtype(reference.attribute("dtype")));
  });
}

TEST(Cast, TakesTheNearestIntegerThatThereIs) {
  Graph g;
  const auto far = constant(g, row<float>({1e20f, -1e20f, INFINITY, -INFINITY, NAN, 300.7f}));
  EXPECT_THAT(run_graph(cast(far, DType::int32)).read<std::int32_t>(),
              ElementsAre(INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0, 300));
  EXPECT_THAT(run_graph(cast(far, DType::int64)).read<std::int64_t>(),
              ElementsAre(INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 0, 300));
  EXPECT_THAT(run_graph(cast(far, DType::uint8)).read<std::uint8_t>(),
              ElementsAre(255, 0, 255, 0, 0, 255));
}

TEST(Cast, GoesThroughTheShortFloats) {
  Graph g;
  const auto x = constant(g, row<float>({1, -2.5, 65504, 1e-3f}));
  for (const auto half : {DType::bfloat16, DType::float16}) {
    const auto there = run_graph(cast(x, half));
    EXPECT_EQ(there, run_graph(x).cast(half));
    EXPECT_EQ(run_graph(cast(cast(x, half), DType::float64)), there.cast(DType::float64));
  }
}

TEST(Cast, ReadsPixels) {
  Graph g;
  std::vector<std::uint8_t> pixels(1000);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  const auto y =
      run_graph(cast(constant(g, Tensor::of<std::uint8_t>({1000}, pixels)), DType::float32));
  for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(y.at(i), i % 256);
}

TEST(Cast, RefusesText) {
  Graph g;
  const auto words = placeholder(g, "words", DType::string, {2});
  EXPECT_EQ(message_of([&] { cast(words, DType::int32); }),
            "node 'cast' (cast): cannot cast string to int32");
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

TEST(CheckNumerics, PassesWhatIsFinite) {
  check_gradient([](auto& x) { return check_numerics(x[0]); }, {random_values({2, 3}, 1)});
}

TEST(CheckNumerics, SaysWhereTheFirstBadValueIs) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 3});
  const auto y = named("loss", check_numerics(x, "after step 7"));
  EXPECT_EQ(message_of([&] {
              run_graph(y, {{"x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, INFINITY, NAN})}});
            }),
            "node 'loss' (check_numerics): after step 7: value [1, 1] of [2, 3] is inf");
  EXPECT_EQ(message_of([&] {
              run_graph(check_numerics(x), {{"x", Tensor::filled(DType::float32, {1, 3}, NAN)}});
            }),
            "node 'check_numerics' (check_numerics): value [0, 0] of [1, 3] is nan");
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
