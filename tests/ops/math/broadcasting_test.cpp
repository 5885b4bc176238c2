#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/interpreter.h"
#include "support/message_of.h"
#include "support/threads.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/random.h"
#include "troupe/ops/reductions.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;

/// Value i of the tensor whose broadcast to `out` is asked for.
double broadcast_value(const Tensor& tensor, const Shape& out, std::int64_t i) {
  std::int64_t at = 0, stride = 1;
  for (int axis = 1; axis <= out.rank(); ++axis) {
    const auto index = i % out[-axis];
    i /= out[-axis];
    if (axis > tensor.shape().rank()) continue;
    if (tensor.shape()[-axis] != 1) at += index * stride;
    stride *= tensor.shape()[-axis];
  }
  return tensor.at(at);
}

Tensor values(DType dtype, const Shape& shape, std::uint64_t seed) {
  return evaluate(init::uniform(-9, 9), DType::float64, shape, "values", seed).cast(dtype);
}

TEST(Broadcasting, FindsTheRightOperandsForAnyShapes) {
  RandomStream random(5);
  for (int round = 0; round < 300; ++round) {
    // A shape, and two of which some axes are 1 or left away at the front.
    std::vector<std::int64_t> out(1 + random.below(5));
    for (auto& extent : out) extent = static_cast<std::int64_t>(random.below(5));
    const auto thinned = [&] {
      auto extents = out;
      for (auto& extent : extents)
        if (random.below(3) == 0) extent = 1;
      extents.erase(extents.begin(),
                    extents.begin() + static_cast<std::ptrdiff_t>(random.below(extents.size())));
      return Shape(extents);
    };
    const auto dtype = round % 2 == 0 ? DType::float32 : DType::int16;
    const auto a = values(dtype, thinned(), 2 * static_cast<std::uint64_t>(round));
    const auto b = values(dtype, thinned(), 2 * static_cast<std::uint64_t>(round) + 1);
    Graph g;
    const auto difference = sub(constant(g, a), constant(g, b));
    const auto got = run_graph(difference);
    SCOPED_TRACE(text(a.shape(), " - ", b.shape()));
    ASSERT_EQ(got.shape(), broadcast(a.shape(), b.shape()));
    for (std::int64_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got.at(i),
                  broadcast_value(a, got.shape(), i) - broadcast_value(b, got.shape(), i), 1e-5);
    EXPECT_EQ(run_graph(sum_to_like(difference, constant(g, a))).shape(), a.shape());
  }
}

TEST(Broadcasting, RepeatsAShortRow) {
  // Long enough for the kernel to write the row out several times first.
  for (const std::int64_t columns : {1, 3, 5, 63, 64, 100}) {
    for (const bool row_first : {false, true}) {
      const auto x = values(DType::float32, {4001, columns}, 1);
      const auto row = values(DType::float32, {columns}, 2);
      Graph g;
      const auto a = constant(g, x);
      const auto b = constant(g, row);
      Threads threads(3);
      const auto difference = row_first ? b - a : a - b;
      const auto below = row_first ? less(b, a) : less(a, b);
      const auto got = run_graph(OutputList{difference, below}, {}, 0, threads);
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const auto l = row_first ? row.at(i % columns) : x.at(i);
        const auto r = row_first ? x.at(i) : row.at(i % columns);
        ASSERT_FLOAT_EQ(got[0].at(i), static_cast<float>(l - r)) << i;
        ASSERT_EQ(got[1].at(i), l < r) << i;
      }
    }
  }
}

TEST(Broadcasting, OfNothingIsNothing) {
  Graph g;
  const auto nothing = constant(g, Tensor(DType::float32, {0, 3}));
  const auto row = constant(g, Tensor(DType::float32, {3}));
  EXPECT_EQ(run_graph(nothing + row).shape(), (Shape{0, 3}));
  EXPECT_EQ(run_graph(nothing * 2).shape(), (Shape{0, 3}));
  EXPECT_EQ(run_graph(exp(nothing)).shape(), (Shape{0, 3}));
  EXPECT_EQ(run_graph(add_n({nothing, nothing, nothing})).shape(), (Shape{0, 3}));
}

TEST(Broadcasting, SaysWhichNodeAndWhichAxisDoesNotFit) {
  Graph g;
  const auto a = placeholder(g, "a", DType::float32, {-1, 10});
  const auto b = placeholder(g, "b", DType::float32, {7});
  EXPECT_EQ(message_of([&] { a + b; }),
            "node 'add' (add): shapes [?, 10] and [7] do not broadcast: counted from the last, "
            "axis 1 has 10 and 7, and neither is 1");
  EXPECT_EQ(message_of([&] { add(a, cast(b, DType::float64)); }),
            "node 'add' (add): inputs 0 and 1 must have the same dtype, but are float32 and "
            "float64; use cast");
  EXPECT_EQ(message_of([&] {
              add_n({a, b});
            }),
            "node 'add_n' (add_n): input 1 has shape [7], but the others have [?, 10]");
}

TEST(SumToLike, IsTheTensorItselfWhereTheShapesAreKnownToBeEqual) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {4, 3});
  EXPECT_EQ(sum_to_like(x, x), x);
  EXPECT_NE(sum_to_like(x, placeholder(g, "y", DType::float32, {-1, 3})), x);
}

TEST(SumToLike, SumsOverTheAxesThatWereStretched) {
  Graph g;
  const auto x = constant(g, Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto like = [&](const Shape& shape) {
    return run_graph(sum_to_like(x, constant(g, Tensor(DType::float32, shape))));
  };
  EXPECT_THAT(like({3}).read<float>(), ElementsAre(5, 7, 9));
  EXPECT_THAT(like({2, 1}).read<float>(), ElementsAre(6, 15));
  EXPECT_THAT(like({}).read<float>(), ElementsAre(21));
  EXPECT_EQ(message_of([&] { like({4}); }),
            "node 'sum_to_like' (sum_to_like): shapes [2, 3] and [4] do not broadcast: counted "
            "from the last, axis 1 has 3 and 4, and neither is 1");
}

}  // namespace
}  // namespace troupe::test
