#include "troupe/ops/reductions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/named.h"
#include "support/threads.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/random.h"

namespace troupe::test {
namespace {

using ReduceOp = Output (*)(Output, const Axes&, bool);

// The name is that of the reference file; the op is called reduce_<name>.
using Reduction = Named<ReduceOp>;

class Reduce : public testing::TestWithParam<Reduction> {};
class ReduceNumbers : public Reduce {};

INSTANTIATE_TEST_SUITE_P(Ops, Reduce,
                         testing::Values(Reduction{"sum", reduce_sum},
                                         Reduction{"mean", reduce_mean},
                                         Reduction{"prod", reduce_prod},
                                         Reduction{"max", reduce_max}, Reduction{"min", reduce_min},
                                         Reduction{"any", reduce_any},
                                         Reduction{"all", reduce_all}),
                         name_of<ReduceOp>);
INSTANTIATE_TEST_SUITE_P(Ops, ReduceNumbers,
                         testing::Values(Reduction{"sum", reduce_sum},
                                         Reduction{"mean", reduce_mean},
                                         Reduction{"prod", reduce_prod},
                                         Reduction{"max", reduce_max},
                                         Reduction{"min", reduce_min}),
                         name_of<ReduceOp>);

TEST_P(Reduce, IsWhatTensorFlowComputes) {
  check_references("reductions.txt", GetParam().name, [](auto& x, auto& reference) {
    const auto axes = reference.has_attribute("axes") ? Axes(reference.integers("axes")) : Axes();
    return GetParam().function(x[0], axes, reference.flag("keep_dims"));
  });
}

TEST_P(ReduceNumbers, HasTheGradientThatFiniteDifferencesMeasure) {
  const auto x = evaluate(init::uniform(0.3, 2), DType::float64, {2, 3, 4}, "x", 1);
  for (const auto& axes : {Axes(), Axes({0}), Axes({1}), Axes({2}), Axes({0, 2}), Axes({-3, -2}),
                           Axes(std::vector<std::int64_t>{})})
    for (const bool keep_dims : {false, true})
      for (const auto& declared : {Shape{2, 3, 4}, Shape{-1, 3, -1}}) {
        SCOPED_TRACE(text(axes.list.size(), " axes of ", declared));
        check_gradient([&](auto& in) { return GetParam().function(in[0], axes, keep_dims); }, {x},
                       {.declared = {declared}});
      }
}

TEST(ReduceSum, OfManyEqualFloatsIsRight) {
  Graph g;
  const auto x = constant(g, Tensor::filled(DType::float32, {10'000'000}, 0.1));
  EXPECT_NEAR(run_graph(reduce_sum(x)).item() / 1e6, 1, 1e-6);
  EXPECT_NEAR(run_graph(reduce_mean(x)).item() / 0.1, 1, 1e-6);
  EXPECT_NEAR(run_graph(l2_loss(x)).item() / 5e4, 1, 1e-6);
}

TEST(Reductions, GiveTheSameBitsWithAnyNumberOfThreads) {
  Graph g;
  Threads two(2), five(5);
  for (const auto& [shape, axes] :
       {std::pair(Shape{1'000'003}, Axes()), std::pair(Shape{100'003, 7}, Axes({0})),
        std::pair(Shape{7, 100'003}, Axes({1})), std::pair(Shape{30, 11, 40, 50}, Axes({0, 2})),
        std::pair(Shape{500, 1300}, Axes({0})), std::pair(Shape{30, 40, 300}, Axes({0, 2}))}) {
    SCOPED_TRACE(shape);
    const auto x = constant(g, random_values(shape, 1, 0, 1, DType::float32));
    for (const auto& y : {reduce_sum(x, axes), reduce_mean(x, axes), reduce_max(x, axes),
                          reduce_prod(x, axes), l2_loss(x)}) {
      const auto alone = run_graph(y);
      EXPECT_TRUE(same_bits(alone, run_graph(y, {}, 0, two))) << y.name();
      EXPECT_TRUE(same_bits(alone, run_graph(y, {}, 0, five))) << y.name();
    }
  }
}

TEST(Reductions, CombineTheRightValuesForAnyAxes) {
  RandomStream random(9);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> extents(1 + random.below(5));
    for (auto& extent : extents) extent = static_cast<std::int64_t>(random.below(5));
    if (round % 7 == 0) extents.back() = 700;
    const Shape shape(extents);
    std::vector<std::int64_t> axes;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (random.below(2) == 0) axes.push_back(axis);
    SCOPED_TRACE(testing::Message() << shape << " over " << testing::PrintToString(axes));

    const auto x = evaluate(init::uniform(-9, 9), DType::float64, shape, "x", random.next());
    Graph g;
    const auto got = run_graph(reduce_sum(constant(g, x), axes, true));
    auto wanted = Tensor(DType::float64, got.shape());
    for (std::int64_t i = 0; i < x.size(); ++i) {
      std::int64_t at = 0, stride = 1, rest = i;
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        if (got.shape()[axis] != 1) at += rest % shape[axis] * stride;
        rest /= shape[axis];
        stride *= got.shape()[axis];
      }
      wanted.write<double>()[static_cast<std::size_t>(at)] += x.at(i);
    }
    expect_near(got, wanted, 1e-9, "sum");
  }
}

TEST(Reductions, OfNothingAreTheNeutralElement) {
  Graph g;
  const auto x = constant(g, Tensor(DType::float32, {0, 2}));
  const auto of = [](Output y) { return run_graph(y).at(1); };
  EXPECT_EQ(of(reduce_sum(x, {0})), 0);
  EXPECT_EQ(of(reduce_prod(x, {0})), 1);
  EXPECT_EQ(of(reduce_max(x, {0})), -HUGE_VAL);
  EXPECT_EQ(of(reduce_min(x, {0})), HUGE_VAL);
  EXPECT_TRUE(std::isnan(of(reduce_mean(x, {0}))));
  EXPECT_EQ(run_graph(reduce_sum(x, {1})).shape(), Shape{0});
  const auto counts = constant(g, Tensor(DType::int32, {0, 2}));
  EXPECT_EQ(of(reduce_max(counts, {0})), INT32_MIN);
  const auto flags = constant(g, Tensor(DType::boolean, {0, 2}));
  EXPECT_EQ(of(reduce_any(flags, {0})), 0);
  EXPECT_EQ(of(reduce_all(flags, {0})), 1);
}

TEST(Reductions, KeepNaN) {
  Graph g;
  auto values = random_values({1000}, 1, 0, 1, DType::float32);
  values.write<float>()[377] = NAN;
  const auto x = constant(g, values);
  for (const auto& y : {reduce_sum(x), reduce_mean(x), reduce_max(x), reduce_min(x), reduce_prod(x),
                        l2_loss(x), logsumexp(x)})
    EXPECT_TRUE(std::isnan(run_graph(y).item())) << y.name();
  EXPECT_EQ(run_graph(arg_max(x, 0)).item(), 377);
  EXPECT_EQ(run_graph(arg_min(x, 0)).item(), 377);
}

TEST(Reductions, SayWhichAxisIsWrong) {
  Graph g;
  const auto x = placeholder(g, "x", DType::float32, {-1, 3});
  EXPECT_EQ(message_of([&] { reduce_sum(x, {2}); }),
            "node 'reduce_sum' (reduce_sum): axes lists 2, but x has shape [?, 3], and an axis "
            "must be in [-2, 2)");
  EXPECT_EQ(message_of([&] {
              reduce_max(x, {1, -1});
            }),
            "node 'reduce_max' (reduce_max): axes lists axis 1 twice");
  EXPECT_EQ(message_of([&] { arg_max(x, 2); }),
            "node 'arg_max' (arg_max): axis is 2, but must be in [-2, 2)");
  EXPECT_EQ(message_of([&] {
              arg_max(placeholder(g, "none", DType::float32, {4, 0}), 1);
            }),
            "node 'arg_max' (arg_max): x has shape [4, 0], and there is no best of no values");
  EXPECT_EQ(message_of([&] { reduce_all(x); }),
            "node 'reduce_all' (reduce_all): x is float32, but must be bool");
  EXPECT_EQ(message_of([&] { reduce_mean(cast(x, DType::int32)); }),
            "node 'reduce_mean' (reduce_mean): input 0 is int32, but must be float32 or float64");
}

TEST(ArgMax, IsWhatTensorFlowComputes) {
  check_references("reductions.txt", "argmax", [](auto& x, auto& reference) {
    return arg_max(x[0], static_cast<int>(reference.integer("axis")));
  });
  check_references("reductions.txt", "argmin", [](auto& x, auto& reference) {
    return arg_min(x[0], static_cast<int>(reference.integer("axis")));
  });
}

TEST(L2Loss, IsHalfTheSumOfSquares) {
  Graph g;
  EXPECT_EQ(run_graph(l2_loss(constant(g, Tensor::of<float>({2, 2}, {1, -2, 3, 0})))).item(), 7);
  check_gradient([](auto& x) { return l2_loss(x[0]); }, {random_values({3, 4}, 1)},
                 {.declared = {{-1, 4}}});
}

TEST(Logsumexp, DoesNotOverflow) {
  Graph g;
  const auto of = [&](std::initializer_list<float> values) {
    return run_graph(logsumexp(constant(
                         g, Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values))))
        .item();
  };
  EXPECT_FLOAT_EQ(static_cast<float>(of({1000, 1000})), 1000 + std::log(2.f));
  EXPECT_FLOAT_EQ(static_cast<float>(of({-1000, -1000})), -1000 + std::log(2.f));
  EXPECT_EQ(of({-INFINITY, -INFINITY}), -HUGE_VAL);
  EXPECT_EQ(of({INFINITY, 0}), HUGE_VAL);
}

TEST(Logsumexp, HasTheGradientThatFiniteDifferencesMeasure) {
  for (const bool keep_dims : {false, true})
    check_gradient([&](auto& x) { return logsumexp(x[0], {-1}, keep_dims); },
                   {random_values({3, 4}, 1)}, {.declared = {{-1, 4}}});
}

TEST(GlobalNorm, IsTheNormOfAllTensorsTogether) {
  Graph g;
  const auto a = constant(g, Tensor::of<float>({2}, {1, 2}));
  const auto b = constant(g, Tensor::of<float>({1, 1}, {2}));
  EXPECT_EQ(run_graph(global_norm({a, b})).item(), 3);
  EXPECT_THROW(global_norm({}), Error);
}

TEST(ClipByGlobalNorm, IsWhatTensorFlowComputes) {
  int checked = 0;
  for (const auto& reference : read_references(TROUPE_TEST_DATA "/array.txt")) {
    if (reference.op != "clip_by_global_norm") continue;
    SCOPED_TRACE(testing::Message() << reference);
    Graph g;
    OutputList x;
    for (const auto& value : reference.list("in")) x.push_back(constant(g, value));
    const auto clipped = run_graph(clip_by_global_norm(x, reference.number("clip_norm")));
    const auto wanted = reference.list("out");
    ASSERT_EQ(clipped.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      expect_near(clipped[i], wanted[i], 1e-6, text("tensor ", i));
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace troupe::test
