#include "troupe/devices/fragment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/check_gradient.h"
#include "support/fragment_runs.h"
#include "support/interpreter.h"
#include "support/test_ops.h"
#include "troupe/ops/array.h"
#include "troupe/ops/convolution.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/initializers.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/pooling.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using test::FragmentRuns;
using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FragmentTest : public testing::Test {
 protected:
  FragmentTest() { test::TestOps::add(); }

  Output input(const std::string& name, const Shape& shape) {
    return placeholder(*graph, name, DType::float32, shape);
  }
  Output op(const std::string& name, const Output& x, const Attributes& attributes = {}) {
    return graph->add(name, {x}, attributes).output(0);
  }

  GraphPtr graph = std::make_shared<Graph>();
  const Tensor one_two = Tensor::of<float>({2}, {1, 2});
};

TEST_F(FragmentTest, RunsWhatItsFetchesNeed) {
  const auto x = input("x", {-1});
  input("never_fed", {});
  FragmentRuns run(graph, {"x"}, {x * 2.0 + 1.0, -x});
  const auto y = run({one_two});
  EXPECT_THAT(y[0].read<float>(), ElementsAre(3, 5));
  EXPECT_THAT(y[1].read<float>(), ElementsAre(-1, -2));
}

TEST_F(FragmentTest, GivesTheSameAgainAndAgain) {
  const auto x = input("x", {-1});
  FragmentRuns run(graph, {"x"}, {square(x) + square(x * 3.0)});
  for (float value : {1.f, 2.f, 3.f}) {
    const auto y = run({Tensor::of<float>({1}, {value})});
    EXPECT_EQ(y[0].at(0), 10 * value * value);
  }
}

TEST_F(FragmentTest, LeavesEarlierResultsAlone) {
  const auto x = input("x", {2});
  FragmentRuns run(graph, {"x"}, {x + 1.0});
  const auto first = run({one_two})[0];
  run({Tensor::of<float>({2}, {7, 8})});
  EXPECT_THAT(first.read<float>(), ElementsAre(2, 3));
}

TEST_F(FragmentTest, ReadsFeedsWhereTheyAre) {
  const auto x = input("x", {2});
  FragmentRuns run(graph, {"x"}, {x, reshape(x, {1, 2}), neg(x)});
  const auto y = run({one_two});
  EXPECT_EQ(y[0].data(), one_two.data());
  EXPECT_EQ(y[1].data(), one_two.data());
  EXPECT_EQ(y[1].shape(), Shape({1, 2}));
  EXPECT_THAT(one_two.read<float>(), ElementsAre(1, 2)) << "neg must not work in place on a feed";
}

TEST_F(FragmentTest, AnswersConstantsAndVariablesThemselves) {
  const auto value = Tensor::of<float>({2}, {5, 6});
  const auto c = constant(*graph, value);
  const auto w = variable(*graph, "w", {2}, init::zeros());
  FragmentRuns run(graph, {"w"}, {c, w, identity(w)});
  const auto y = run({one_two});
  EXPECT_EQ(y[0].data(), value.data());
  EXPECT_EQ(y[1].data(), one_two.data());
  EXPECT_EQ(y[2].data(), one_two.data());
}

TEST_F(FragmentTest, SharesOneValueAmongAllWhoAskForIt) {
  const auto x = input("x", {2, 2});
  const auto y = x + 1.0;
  FragmentRuns run(graph, {"x"}, {y, flatten(y), y});
  const auto all = run({Tensor::of<float>({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(all[1].data(), all[0].data());
  EXPECT_EQ(all[1].shape(), Shape({2, 2}));
  EXPECT_EQ(all[2].data(), all[0].data());
  EXPECT_THAT(all[0].read<float>(), ElementsAre(2, 3, 4, 5));
}

TEST_F(FragmentTest, CutsTheGraphWhereAnIntermediateValueIsFed) {
  const auto x = input("x", {2});
  const auto h = named("h", x * 10.0);
  FragmentRuns run(graph, {"h"}, {h + 1.0});
  EXPECT_THAT(run({one_two})[0].read<float>(), ElementsAre(2, 3)) << "without x";
}

TEST_F(FragmentTest, MayFeedOneOutputOfANodeAndComputeTheOthers) {
  const auto x = input("x", {4});
  const auto parts = split(x, 2, 0);
  FragmentRuns run(graph, {"x", parts[1].name()}, {parts[0], parts[1]});
  const auto y = run({Tensor::of<float>({4}, {1, 2, 3, 4}), Tensor::of<float>({2}, {8, 9})});
  EXPECT_THAT(y[0].read<float>(), ElementsAre(1, 2));
  EXPECT_THAT(y[1].read<float>(), ElementsAre(8, 9));
}

TEST_F(FragmentTest, RunsTargetsAndControlInputsForTheirEffects) {
  const auto x = input("x", {1});
  const auto checked = op("test_fail", x);
  const auto all = group(*graph, {checked});
  FragmentSpec spec{graph, {"x"}, {}, {}, {all.node().name}};
  FragmentRuns run(spec);
  EXPECT_TRUE(run({Tensor::of<float>({1}, {1})}).empty());
  EXPECT_THROW(run({Tensor::of<float>({1}, {-1})}), Error);
}

TEST_F(FragmentTest, GivesAnEmptyTensorForANodeWithoutOutputs) {
  group(*graph, {input("x", {1})}, "all");
  FragmentRuns run(FragmentSpec{graph, {"x"}, {"all"}, {}, {}});
  EXPECT_EQ(run({Tensor::of<float>({1}, {1})})[0].size(), 0);
}

TEST_F(FragmentTest, StreamsValuesAsSoonAsTheyAreReady) {
  const auto x = input("x", {1});
  const auto early = named("early", x + 1.0);
  named("late", op("test_fail", early - 3.0));
  FragmentRuns run(FragmentSpec{graph, {"x"}, {"late"}, {"late", "early", "x"}, {}});
  EXPECT_THROW(run({Tensor::of<float>({1}, {1})}), Error);
  ASSERT_EQ(run.streamed.size(), 2u) << "before the failure";
  EXPECT_EQ(run.streamed[0].first, 2u);
  EXPECT_EQ(run.streamed[1].first, 1u);
  EXPECT_EQ(run.streamed[1].second.at(0), 2);
  run.streamed.clear();
  const auto y = run({Tensor::of<float>({1}, {5})});
  ASSERT_EQ(run.streamed.size(), 3u);
  EXPECT_EQ(run.streamed[2].first, 0u);
  EXPECT_EQ(run.streamed[2].second.data(), y[0].data());
}

TEST_F(FragmentTest, NamesNodeOpAndDeviceWhenAKernelFailsAndStaysUsable) {
  const auto x = input("x", {1});
  FragmentRuns run(graph, {"x"}, {named("checked", op("test_fail", x))});
  EXPECT_EQ(message_of([&] { run({Tensor::of<float>({1}, {-1})}); }),
            "/device:CPU:0: node 'checked' (test_fail): told to fail");
  EXPECT_EQ(run({Tensor::of<float>({1}, {3})})[0].at(0), 3);
}

TEST_F(FragmentTest, SaysWhichPlaceholderIsMissing) {
  const auto x = input("x", {-1, 4});
  const auto loss = named("loss", x + 1.0);
  EXPECT_EQ(message_of([&] { FragmentRuns(graph, {}, {loss}); }),
            "placeholder 'x' (float32 [?, 4]) is not fed, but 'loss' needs it");
}

TEST_F(FragmentTest, SaysWhatItGotAndWhatItTakes) {
  const auto x = input("x", {-1, 4});
  const auto w = variable(*graph, "w", {4}, init::zeros());
  FragmentRuns run(graph, {"x", "w"}, {x + w});
  const Tensor good(DType::float32, {4});
  EXPECT_EQ(message_of([&] { run({good}); }),
            "/device:CPU:0: the fragment takes 2 feeds (x, w), but got 1");
  EXPECT_EQ(message_of([&] {
              run({Tensor(DType::float32, {3, 5}), good});
            }),
            "placeholder 'x' takes float32 [?, 4], but was fed float32 [3, 5]");
  EXPECT_EQ(message_of([&] {
              run({Tensor(DType::int32, {3, 4}), good});
            }),
            "placeholder 'x' takes float32 [?, 4], but was fed int32 [3, 4]");
  EXPECT_EQ(message_of([&] {
              run({Tensor(DType::float32, {3, 4}), Tensor(DType::float32, {1})});
            }),
            "variable 'w' takes float32 [4], but was fed float32 [1]");
}

TEST_F(FragmentTest, RefusesWhatTheGraphDoesNotHave) {
  input("x", {});
  EXPECT_EQ(message_of([&] {
              FragmentRuns(FragmentSpec{graph, {}, {"y"}, {}, {}});
            }),
            "the graph has no node 'y'");
  EXPECT_EQ(message_of([&] {
              FragmentRuns(FragmentSpec{graph, {"x", "x:0"}, {"x"}, {}, {}});
            }),
            "'x' is fed twice");
  const auto open = std::make_shared<Graph>();
  EXPECT_THROW(Fragment(FragmentSpec{open, {}, {}, {}, {}}, {},
                        {std::shared_ptr<void>(), &serial()}, "/device:CPU:0"),
               Error)
      << "not finished";
}

TEST_F(FragmentTest, SettlesShapesByWhatIsFed) {
  const auto x = input("x", {-1, 2});
  const auto y = reduce_sum(x, {1});
  FragmentRuns run(graph, {"x"}, {y, reshape(x, {-1})});
  for (const std::int64_t rows : {1, 5, 3}) {
    const auto out = run({Tensor::filled(DType::float32, {rows, 2}, 2)});
    EXPECT_EQ(out[0].shape(), Shape({rows}));
    EXPECT_EQ(out[1].shape(), Shape({rows * 2}));
    EXPECT_EQ(out[0].at(rows - 1), 4);
  }
}

TEST_F(FragmentTest, SaysWhichNodeDoesNotTakeTheShapes) {
  const auto x = input("x", {-1});
  FragmentRuns run(graph, {"x"}, {named("sum", x + constant(*graph, one_two))});
  EXPECT_THAT(message_of([&] { run({Tensor(DType::float32, {3})}); }),
              HasSubstr("node 'sum' (add)"));
}

TEST_F(FragmentTest, KeepsABoundedNumberOfShapesCompiled) {
  const auto x = input("x", {-1});
  FragmentRuns run(graph, {"x"}, {exp(square(x)) + reduce_sum(exp(x))});
  const auto feed = [](std::int64_t rows) { return Tensor(DType::float32, {rows}); };
  for (std::int64_t rows = 1; rows <= 100; ++rows) run({feed(rows)});
  const auto text = run.fragment.describe();
  EXPECT_THAT(text, HasSubstr("fed x float32 [100]"));
  EXPECT_THAT(text, Not(HasSubstr("fed x float32 [84]")));
  EXPECT_LE(run.fragment.arena_bytes(), Fragment::kMostSignatures * 2 * (100 * 4 + 64));
}

TEST_F(FragmentTest, MayRunSeveralTimesAtOnce) {
  const auto x = input("x", {1});
  FragmentRuns run(graph, {"x"}, {op("test_meet", x, {{"count", 3}})});
  test::meeting().reset();
  std::vector<std::thread> threads;
  std::array<double, 3> results{};
  for (int i = 0; i < 3; ++i)
    threads.emplace_back(
        [&, i] { results[i] = run({Tensor::of<float>({1}, {float(i)})})[0].at(0); });
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(results, ElementsAre(0, 1, 2));
}

TEST_F(FragmentTest, HandlesStringsAndEmptyTensors) {
  const auto s = placeholder(*graph, "s", DType::string, {-1});
  const auto x = input("x", {-1});
  FragmentRuns run(graph, {"s", "x"},
                   {concat({s, s}, 0), concat({concat({s, s}, 0), s}, 0), x * 2.0});
  const std::vector<std::string> words{"a", std::string(100, 'b')};
  for (int repeat = 0; repeat < 2; ++repeat) {
    const auto y = run({Tensor::of<std::string>({2}, words), Tensor(DType::float32, {0})});
    EXPECT_THAT(y[0].read<std::string>(), ElementsAre(words[0], words[1], words[0], words[1]));
    EXPECT_EQ(y[1].size(), 6);
    EXPECT_EQ(y[2].shape(), Shape({0}));
  }
}

TEST_F(FragmentTest, GivesTheSameGradientsAsThePlainInterpreter) {
  const auto x = input("x", {-1, 3});
  const auto w = variable(*graph, "w", {3, 4}, init::normal(0, 1));
  const auto b = variable(*graph, "b", {4}, init::normal(0, 1));
  const auto h = relu(matmul(x, w) + b);
  const auto loss = reduce_mean(square(tanh(h) - 0.5)) + l2_loss(w) * 0.01;
  const auto grads = gradients(loss, {w, b});
  const OutputList fetches{loss, grads[0].dense(), grads[1].dense(), h};
  const std::map<std::string, Tensor> feeds{
      {"x", test::random_values({5, 3}, 1, 0, 1, DType::float32)},
      {"w", test::random_values({3, 4}, 2, 0, 1, DType::float32)},
      {"b", test::random_values({4}, 3, 0, 1, DType::float32)}};
  const auto expected = test::run_graph(fetches, feeds);
  for (const int inter_op : {1, 2}) {
    FragmentRuns run(graph, {"x", "w", "b"}, fetches, {.intra_op = 1, .inter_op = inter_op});
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto got = run({feeds.at("x"), feeds.at("w"), feeds.at("b")});
      for (std::size_t i = 0; i < fetches.size(); ++i)
        for (std::int64_t k = 0; k < expected[i].size(); ++k)
          ASSERT_NEAR(got[i].at(k), expected[i].at(k), 1e-5) << fetches[i].name();
    }
  }
}

TEST(Fragment, GivesTheSameValuesWithAFusedFirstLayerAsNodeByNode) {
  const auto graph = std::make_shared<Graph>();
  const auto images = placeholder(*graph, "images", DType::float32, {-1, 9, 22, 1});
  const auto filter = placeholder(*graph, "filter", DType::float32, {3, 4, 1, 5});
  const auto bias = placeholder(*graph, "bias", DType::float32, {5});
  const auto pooled = max_pool(relu(bias_add(conv2d(images, filter, {.strides = {1, 2}}), bias)));
  const auto grads = gradients(reduce_sum(square(pooled)), {filter, bias});
  const OutputList fetches{pooled, grads[0].dense(), grads[1].dense()};

  const auto values = [](const Shape& shape, std::string_view name) {
    return evaluate(init::normal(0, 1), DType::float32, shape, name, 3);
  };
  const TensorList feeds{values({5, 9, 22, 1}, "a"), values({3, 4, 1, 5}, "b"), values({5}, "c")};
  const auto wanted =
      test::run_graph(fetches, {{"images", feeds[0]}, {"filter", feeds[1]}, {"bias", feeds[2]}});
  test::FragmentRuns run(graph, {"images", "filter", "bias"}, fetches);
  const auto got = run(feeds);
  for (std::size_t f = 0; f < fetches.size(); ++f)
    for (std::int64_t i = 0; i < got[f].size(); ++i)
      ASSERT_NEAR(got[f].at(i), wanted[f].at(i), 1e-3) << fetches[f].name() << ", value " << i;
}

TEST(Fragment, GivesTheSameValuesWithFusedGradientsAsNodeByNode) {
  const auto graph = std::make_shared<Graph>();
  const auto images = placeholder(*graph, "images", DType::float32, {-1, 11, 12, 3});
  OutputList weights;
  TensorList feeds;
  const auto values = [](const Shape& shape, int seed) {
    return test::random_values(shape, seed, 0, 0.3, DType::float32);
  };
  const auto weight = [&](const std::string& name, const Shape& shape) {
    weights.push_back(placeholder(*graph, name, DType::float32, shape));
    feeds.push_back(values(shape, static_cast<int>(weights.size())));
    return weights.back();
  };
  const ConvolutionOptions same{.padding = Padding::same};
  auto x = relu(bias_add(conv2d(images, weight("w1", {3, 3, 3, 32}), same), weight("b1", {32})));
  x = max_pool(x, {.window = {3, 3}, .strides = {2, 2}, .padding = Padding::same});
  x = relu(bias_add(conv2d(x, weight("w2", {5, 5, 32, 32}), same), weight("b2", {32})));
  x = flatten(max_pool(lrn(x, {.depth_radius = 2, .alpha = 0.1})));
  x = relu(bias_add(matmul(x, weight("w3", {288, 19})), weight("b3", {19})));
  OutputList fetches{reduce_sum(square(x))};
  for (const auto& g : gradients(fetches[0], weights)) fetches.push_back(g.dense());

  feeds.push_back(values({6, 11, 12, 3}, 9));
  std::vector<std::string> names;
  std::map<std::string, Tensor> named;
  for (const auto& w : weights) names.push_back(w.name());
  names.emplace_back("images");
  for (std::size_t i = 0; i < names.size(); ++i) named[names[i]] = feeds[i];
  const auto wanted = test::run_graph(fetches, named);
  test::FragmentRuns run(graph, names, fetches);
  const auto got = run(feeds);
  for (std::size_t f = 0; f < fetches.size(); ++f)
    for (std::int64_t i = 0; i < got[f].size(); ++i)
      ASSERT_NEAR(got[f].at(i), wanted[f].at(i), 1e-4 * std::max(1.0, std::abs(wanted[f].at(i))))
          << fetches[f].name() << ", value " << i;
}

}  // namespace
}  // namespace troupe
