#include "troupe/ops/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/named.h"
#include "support/row.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;

using BinaryOp = Output (*)(Output, Output);

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

TEST(LogicalNot, IsWhatTensorFlowComputes) {
  check_references("elementwise_unary.txt", "logical_not",
                   [](auto& x, auto&) { return logical_not(x[0]); });
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

}  // namespace
}  // namespace troupe::test
