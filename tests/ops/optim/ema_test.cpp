#include "troupe/ops/optim/ema.h"

#include <gtest/gtest.h>

#include "support/check_reference.h"
#include "support/message_of.h"

namespace troupe::test {
namespace {

TEST(MovingAverage, IsWhatTensorFlowComputes) {
  const auto cases = read_references(TROUPE_TEST_DATA "/moving_averages.txt");
  EXPECT_EQ(cases.size(), 6u);
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c);
    auto average = c.tensor("value0");
    const bool counted = c.flag("num_updates");
    for (int k = 1; c.has(text("value", k)); ++k) {
      const auto decay = counted ? average_decay(c.number("decay"), k) : c.number("decay");
      update_average(average, c.tensor(text("value", k)), decay);
      // TensorFlow computes the counted decay in float32.
      const bool exact = average.dtype() == DType::float64 && !counted;
      expect_near(average, c.tensor(text("average", k)), exact ? 1e-15 : 1e-6, text("average", k));
    }
  }
}

TEST(MovingAverage, LeavesASnapshotAlone) {
  auto average = Tensor::of<float>({2}, {1, 2});
  const auto snapshot = average;
  update_average(average, Tensor::of<float>({2}, {3, 4}), 0.5);
  EXPECT_EQ(snapshot, Tensor::of<float>({2}, {1, 2}));
  EXPECT_EQ(average, Tensor::of<float>({2}, {2, 3}));
}

TEST(MovingAverage, RefusesAValueOfAnotherShape) {
  auto average = Tensor(DType::float32, {2});
  EXPECT_EQ(message_of([&] { update_average(average, Tensor(DType::float32, {3}), 0.5); }),
            "the moving average is float32 [2], but the value float32 [3]");
}

}  // namespace
}  // namespace troupe::test
