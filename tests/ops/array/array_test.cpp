#include "troupe/ops/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/threads.h"
#include "troupe/ops/state.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;

/// 0, 1, 2, ... in that shape.
Tensor counted(const Shape& shape, DType dtype = DType::float32) {
  auto values = Tensor::uninitialized(DType::int64, shape);
  std::int64_t next = 0;
  for (auto& value : values.write<std::int64_t>()) value = next++;
  return values.cast(dtype);
}

class Array : public testing::Test {
 protected:
  Output number(const Shape& shape, DType dtype = DType::float32) {
    return constant(g, counted(shape, dtype));
  }
  Output open(const Shape& shape, DType dtype = DType::float32) {
    return placeholder(g, "x", dtype, shape);
  }
  Graph g;
};

class Reshape : public Array {};

TEST_F(Reshape, ComputesTheExtentThatIsLeftOpen) {
  EXPECT_EQ(reshape(open({4, 6}), {8, -1}).shape(), (Shape{8, 3}));
  EXPECT_EQ(reshape(open({-1, 6}), {-1, 2, 3}).shape(), (Shape{-1, 2, 3}));
  EXPECT_EQ(reshape(open({0, 6}), {-1, 2, 3}).shape(), (Shape{0, 2, 3}));
}

TEST_F(Reshape, SaysWhatDoesNotFit) {
  const auto x = open({4, 6});
  EXPECT_EQ(message_of([&] {
              reshape(x, {5, 5});
            }),
            "node 'reshape' (reshape): the input of shape [4, 6] has 24 values, but shape [5, 5] "
            "holds 25");
  EXPECT_EQ(message_of([&] {
              reshape(x, {-1, 5});
            }),
            "node 'reshape' (reshape): the input of shape [4, 6] has 24 values, which cannot be "
            "seen as [?, 5]");
  EXPECT_EQ(message_of([&] {
              reshape(x, {-1, -1});
            }),
            "node 'reshape' (reshape): shape is [?, ?], but at most one extent may be -1");
  EXPECT_EQ(message_of([&] {
              reshape(x, {-1, 0});
            }),
            "node 'reshape' (reshape): shape is [?, 0]: an extent of -1 beside one of 0 is any "
            "number");
}

TEST_F(Reshape, SharesTheValues) {
  const auto x = counted({2, 3});
  const auto node = reshape(open({2, 3}), {3, 2});
  EXPECT_EQ(run_graph(node, {{"x", x}}).data(), x.data());
}

TEST_F(Reshape, FlattenKeepsTheFirstAxis) {
  EXPECT_EQ(flatten(open({-1, 4, 5})).shape(), (Shape{-1, 20}));
  EXPECT_EQ(flatten(open({7})).shape(), (Shape{7, 1}));
  EXPECT_EQ(flatten(open({0, 4, 5})).shape(), (Shape{0, 20}));
  EXPECT_EQ(message_of([&] { flatten(open({})); }),
            "node 'flatten' (flatten): the input is a scalar and has no first axis to keep");
}

TEST_F(Reshape, AddsAndDropsAxesOfOne) {
  EXPECT_EQ(expand_dims(open({2, 3}), 0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(expand_dims(open({2, 3}), -1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(squeeze(open({1, 2, 1})).shape(), Shape{2});
  EXPECT_EQ(squeeze(open({1, 2, 1}), {-1}).shape(), (Shape{1, 2}));
  EXPECT_EQ(squeeze(open({-1, 2, 1}), {0}).shape(), (Shape{2, 1}));
  EXPECT_EQ(message_of([&] {
              squeeze(open({1, 2}), {1});
            }),
            "node 'squeeze' (squeeze): axis 1 of the input [1, 2] has extent 2, but only an extent "
            "of 1 can be dropped");
}

TEST_F(Array, TransposesEveryOrderOfFourAxes) {
  const Shape shape{3, 4, 2, 5};
  std::vector<std::int64_t> axes{0, 1, 2, 3};
  const auto x = counted(shape, DType::int64);
  do {
    const auto y = run_graph(transpose(constant(g, x), axes));
    for (std::int64_t i = 0; i < y.size(); ++i) {
      std::int64_t rest = i, from = 0;
      for (int k = 3; k >= 0; --k) {
        std::int64_t stride = 1;
        for (int j = static_cast<int>(axes[k]) + 1; j < 4; ++j) stride *= shape[j];
        from += rest % y.shape()[k] * stride;
        rest /= y.shape()[k];
      }
      ASSERT_EQ(y.at(i), from) << y.shape();
    }
  } while (std::next_permutation(axes.begin(), axes.end()));
}

TEST_F(Array, TransposesLargeMatricesOnManyThreads) {
  const auto x = counted({513, 259}, DType::float64);
  const auto y = transpose(constant(g, x));
  Threads threads(3);
  const auto got = run_graph(y, {}, 0, threads);
  EXPECT_TRUE(same_bits(got, run_graph(y)));
  EXPECT_EQ(got.at(1), 259);
  EXPECT_EQ(got.at(513), 1);
}

TEST_F(Array, TransposesStrings) {
  const auto x = Tensor::of<std::string>({2, 2}, {"a", "b", "c", "d"});
  EXPECT_THAT(run_graph(transpose(constant(g, x))).read<std::string>(),
              ElementsAre("a", "c", "b", "d"));
}

TEST_F(Array, RefusesAnOrderThatIsNone) {
  const auto x = open({2, 3});
  EXPECT_EQ(message_of([&] {
              transpose(x, {0, 0});
            }),
            "node 'transpose' (transpose): axes names axis 0 twice");
  EXPECT_EQ(message_of([&] {
              transpose(x, {0, 2});
            }),
            "node 'transpose' (transpose): axes is 2, but must be in [-2, 2)");
  EXPECT_EQ(message_of([&] { transpose(x, {0}); }),
            "node 'transpose' (transpose): axes lists 1 axes, but the input has shape [2, 3]");
}

TEST_F(Array, ConcatAddsTheExtentsItKnows) {
  EXPECT_EQ(concat({open({-1, 3}), open({2, 3})}, 0).shape(), (Shape{-1, 3}));
  EXPECT_EQ(concat({open({-1, 3}), open({2, 4})}, 1).shape(), (Shape{2, 7}));
  EXPECT_EQ(message_of([&] {
              concat({open({2, 3}), open({2, 4})}, 0);
            }),
            "node 'concat' (concat): input 1 has shape [2, 4], but input 0 has [2, 3], and only "
            "axis 0 may differ");
  EXPECT_EQ(message_of([&] {
              concat({open({2}), open({2}, DType::int32)}, 0);
            }),
            "node 'concat' (concat): inputs 0 and 1 must have the same dtype, but are float32 and "
            "int32; use cast");
  EXPECT_EQ(message_of([&] { concat({}, 0); }), "concat: there is nothing to join");
}

TEST_F(Array, SplitRefusesSizesThatDoNotAddUp) {
  const auto x = open({6});
  EXPECT_EQ(split(x, {2, -1, 1}, 0)[1].shape(), Shape{3});
  EXPECT_EQ(split(open({-1}), 3, 0)[1].shape(), Shape{-1});
  EXPECT_EQ(message_of([&] {
              split(x, {2, 3}, 0);
            }),
            "node 'split' (split): sizes add up to 5, but the axis has extent 6");
  EXPECT_EQ(message_of([&] { split(x, 4, 0); }),
            "node 'split' (split): an axis of extent 6 cannot be cut into 4 equal parts");
  EXPECT_EQ(message_of([&] { split(x, INT32_MAX, 0); }),
            "node 'split' (split): num is 2147483647, but there must be 1 to 65536 parts");
}

TEST_F(Array, UnstackNeedsToKnowHowMany) {
  EXPECT_EQ(message_of([&] {
              unstack(open({-1, 3}));
            }),
            "node 'unstack' (unstack): axis 0 of the input [?, 3] has an unknown extent, but the "
            "number of outputs must be known; use slice");
}

TEST_F(Array, SliceStaysInside) {
  const auto x = open({4, -1});
  EXPECT_EQ(slice(x, {1, 2}, {-1, -1}).shape(), (Shape{3, -1}));
  EXPECT_EQ(slice(x, {4, 2}, {-1, 5}).shape(), (Shape{0, 5}));
  EXPECT_EQ(message_of([&] {
              slice(x, {2, 0}, {3, 1});
            }),
            "node 'slice' (slice): axis 0 of the input [4, ?] has no 3 values from 2 on");
  EXPECT_EQ(message_of([&] {
              slice(x, {5, 0}, {-1, 1});
            }),
            "node 'slice' (slice): axis 0 of the input [4, ?] has no rest from 5 on");
  EXPECT_EQ(message_of([&] { slice(x, {1}, {1}); }),
            "node 'slice' (slice): begin and size have 1 and 1 entries, but the input has shape "
            "[4, ?]");
}

TEST_F(Array, StridedSliceFollowsPython) {
  const auto x = number({7});
  const auto cut = [&](std::int64_t begin, std::int64_t end, std::int64_t stride) {
    return run_graph(strided_slice(x, {begin}, {end}, {stride}));
  };
  EXPECT_THAT(cut(-1, kBeyond, -1).read<float>(), ElementsAre(6, 5, 4, 3, 2, 1, 0));
  EXPECT_THAT(cut(5, 1, -2).read<float>(), ElementsAre(5, 3));
  EXPECT_THAT(cut(-100, 100, 3).read<float>(), ElementsAre(0, 3, 6));
  EXPECT_THAT(cut(2, 6, INT64_MAX).read<float>(), ElementsAre(2));
  EXPECT_THAT(cut(6, kBeyond, INT64_MIN).read<float>(), ElementsAre(6));
  EXPECT_EQ(cut(5, 2, 1).size(), 0);
  EXPECT_EQ(run_graph(strided_slice(number({0, 2}), {-1}, {kBeyond}, {-1})).shape(), (Shape{0, 2}));
  EXPECT_EQ(message_of([&] { cut(0, 1, 0); }),
            "node 'strided_slice' (strided_slice): the stride of axis 0 is 0");
}

TEST_F(Array, ReverseTurnsTheAxesThatAreNamed) {
  EXPECT_THAT(run_graph(reverse(number({2, 3}), {1})).read<float>(), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(run_graph(reverse(number({2, 3}), {0, -1})).read<float>(),
              ElementsAre(5, 4, 3, 2, 1, 0));
}

TEST_F(Array, PadReflectMirrorsAtTheEdges) {
  EXPECT_THAT(run_graph(pad_reflect(number({3}), {2, 1})).read<float>(),
              ElementsAre(2, 1, 0, 1, 2, 1));
  EXPECT_THAT(run_graph(pad_reflect(number({2, 2}), {1, 0, 0, 1})).read<float>(),
              ElementsAre(2, 3, 2, 0, 1, 0, 2, 3, 2));
  EXPECT_EQ(message_of([&] {
              pad_reflect(open({3}), {3, 0});
            }),
            "node 'pad' (pad): axis 0 has extent 3 and cannot be mirrored for paddings of 3 and 0");
}

TEST_F(Array, PadTakesIntegersAndStrings) {
  EXPECT_THAT(run_graph(pad(number({2}, DType::int32), {1, 1}, 7)).read<std::int32_t>(),
              ElementsAre(7, 0, 1, 7));
  const auto words = constant(g, Tensor::of<std::string>({1}, {"word"}));
  EXPECT_THAT(run_graph(pad(words, {1, 0})).read<std::string>(), ElementsAre("", "word"));
}

TEST_F(Array, TileByZeroIsEmpty) {
  EXPECT_EQ(run_graph(tile(number({2, 3}), {2, 0})).shape(), (Shape{4, 0}));
  EXPECT_EQ(tile(open({-1}), {3}).shape(), Shape{-1});
}

class Gather : public Array {
 protected:
  Output ids(std::initializer_list<std::int64_t> values) {
    return constant(g,
                    Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
};

TEST_F(Gather, NamesTheIndexThatIsOutsideAndWhereItStands) {
  const auto x = number({5, 2});
  for (const std::int64_t bad : {std::int64_t{5}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    const auto indices = constant(g, Tensor::of<std::int64_t>({2, 2}, {0, 1, bad, 2}));
    const auto picked = named(text("embed_", bad), gather(x, indices));
    EXPECT_EQ(message_of([&] { run_graph(picked); }),
              text("node 'embed_", bad, "' (gather): index ", bad, " at [1, 0] is outside [0, 5)"));
  }
  EXPECT_EQ(message_of([&] {
              run_graph(scatter_rows(ids({0, 9}), number({2, 2}), {3, 2}));
            }),
            "node 'scatter_rows' (scatter_rows): index 9 at [1] is outside [0, 3)");
}

TEST_F(Gather, FindsNothingInAnEmptyTable) {
  EXPECT_EQ(run_graph(gather(number({0, 2}), ids({}))).shape(), (Shape{0, 2}));
  EXPECT_EQ(message_of([&] {
              run_graph(gather(number({0, 2}), ids({0})));
            }),
            "node 'gather_1' (gather): index 0 at [0] is outside [0, 0)");
}

TEST_F(Gather, PicksStrings) {
  const auto words = constant(g, Tensor::of<std::string>({2}, {"no", "yes"}));
  EXPECT_THAT(run_graph(gather(words, ids({1, 1, 0}))).read<std::string>(),
              ElementsAre("yes", "yes", "no"));
}

TEST_F(Gather, WantsIntegerIndices) {
  EXPECT_EQ(
      message_of([&] { gather(number({3}), number({2})); }),
      "node 'gather' (gather): the indices are float32, but must be int32 or int64; use cast");
}

TEST_F(Gather, HasASparseGradientForATableOfKnownShape) {
  const auto table = variable(g, "table", {5, 2}, init::zeros());
  auto& picked = gather(table, constant(g, Tensor::of<std::int32_t>({2, 1}, {3, 3}))).node();
  const auto dy = number({2, 1, 2});
  const auto dx = picked.op->gradient(Backward(picked, {dy}))[0];
  ASSERT_TRUE(dx.is_sparse());
  EXPECT_EQ(dx.shape, (Shape{5, 2}));
  EXPECT_THAT(run_graph(dx.indices).read<std::int32_t>(), ElementsAre(3, 3));
  EXPECT_THAT(run_graph(dx.values).read<float>(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(run_graph(dx.dense()).read<float>(), ElementsAre(0, 0, 0, 0, 0, 0, 2, 4, 0, 0));
}

TEST_F(Gather, ScatterAddsRepeatedRowsInTheirOrderOnAnyNumberOfThreads) {
  const auto indices =
      constant(g, evaluate(init::uniform(0, 50), DType::int64, {4000}, "indices", 3));
  const auto rows = constant(g, evaluate(init::normal(0, 1), DType::float32, {4000, 8}, "rows", 3));
  const auto sum = scatter_rows(indices, rows, {50, 8});
  Threads threads(4);
  EXPECT_TRUE(same_bits(run_graph(sum), run_graph(sum, {}, 0, threads)));
}

TEST_F(Gather, ScatterSaysHowManyRowsItNeeds) {
  EXPECT_EQ(message_of([&] {
              scatter_rows(ids({0, 1}), number({3, 2}), {5, 2});
            }),
            "node 'scatter_rows' (scatter_rows): rows have shape [3, 2], but [2] indices into "
            "[5, 2] need [2, 2]");
}

TEST_F(Array, CumsumAddsForwardsAndBackwards) {
  const auto x = number({2, 3});
  EXPECT_THAT(run_graph(cumsum(x, 1)).read<float>(), ElementsAre(0, 1, 3, 3, 7, 12));
  EXPECT_THAT(run_graph(cumsum(x, 0)).read<float>(), ElementsAre(0, 1, 2, 3, 5, 7));
  EXPECT_THAT(run_graph(cumsum(x, -1, {.exclusive = true})).read<float>(),
              ElementsAre(0, 0, 1, 0, 3, 7));
  EXPECT_THAT(run_graph(cumsum(x, 1, {.reverse = true})).read<float>(),
              ElementsAre(3, 3, 2, 12, 9, 5));
  EXPECT_THAT(run_graph(cumsum(x, 1, {.exclusive = true, .reverse = true})).read<float>(),
              ElementsAre(3, 2, 0, 9, 5, 0));
}

TEST_F(Array, CountsWhatATensorHolds) {
  const auto x = number({2, 0, 3});
  EXPECT_THAT(run_graph(shape_of(x)).read<std::int64_t>(), ElementsAre(2, 0, 3));
  EXPECT_EQ(run_graph(size_of(x)).item(), 0);
  EXPECT_EQ(run_graph(size_of(number({}))).item(), 1);
}

TEST_F(Array, RangeStopsShortOfItsEnd) {
  EXPECT_THAT(run_graph(range(g, 0, 5, 2)).read<std::int64_t>(), ElementsAre(0, 2, 4));
  EXPECT_THAT(run_graph(range(g, 1, -1, -0.5, DType::float32)).read<float>(),
              ElementsAre(1, 0.5, 0, -0.5));
  EXPECT_EQ(run_graph(range(g, 3, 3)).size(), 0);
  EXPECT_EQ(message_of([&] { range(g, 0, 1, 0); }),
            "range: from 0 to 1 by 0 is not a number of values that fits in memory");
}

}  // namespace
}  // namespace troupe::test
