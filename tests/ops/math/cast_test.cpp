#include "troupe/ops/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/check_gradient.h"
#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/row.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;

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

}  // namespace
}  // namespace troupe::test
