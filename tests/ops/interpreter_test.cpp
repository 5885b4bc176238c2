#include "support/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe::test {
namespace {

using testing::ElementsAre;

TEST(Interpreter, RunsWhatTheFetchesNeedAndNothingElse) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1});
  placeholder(g, "not_fed", DType::float32, {});
  const auto y = zeros_like(identity(x));
  EXPECT_EQ(run_graph(y, {{"x", Tensor::of<float>({2}, {1, 2})}}), Tensor(DType::float32, {2}));
  EXPECT_THROW(run_graph(y), Error) << "x is not fed";
}

TEST(Interpreter, ReadsVariablesFromTheFeedsOrTheirInitializers) {
  Graph g;
  const auto w = variable(g, "w", {2}, init::constant(3));
  const auto next = assign_add(w, ones_like(w));
  EXPECT_THAT(run_graph(next).read<float>(), ElementsAre(4, 4));
  EXPECT_THAT(run_graph(next, {{"w", Tensor::of<float>({2}, {1, 2})}}).read<float>(),
              ElementsAre(2, 3));
}

TEST(Interpreter, RunsControlInputsFirst) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {});
  EXPECT_EQ(run_graph(group(g, {x}), {{"x", Tensor::scalar(1.f)}}).size(), 0);
  EXPECT_THROW(run_graph(group(g, {x})), Error) << "x is not fed";
}

}  // namespace
}  // namespace troupe::test
