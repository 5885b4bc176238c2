#include "troupe/ops/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/check_gradient.h"
#include "support/check_reference.h"

namespace troupe::test {
namespace {

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

}  // namespace
}  // namespace troupe::test
