#include "troupe/actors/ensemble/ensemble_scores.h"

#include <gmock/gmock.h>

#include <cmath>

#include "support/message_of.h"
#include "troupe/ops/tensor.h"

namespace troupe {
namespace {

using ::testing::HasSubstr;

Tensor labels(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

TEST(Scores, AreTheShareOfRowsWhoseLargestAnswerIsTheLabel) {
  const auto answers = Tensor::of<float>({3, 2}, {0.9f, 0.1f, 0.2f, 0.8f, 0.6f, 0.4f});
  EXPECT_DOUBLE_EQ(accuracy_score().of(answers, labels({0, 1, 1})), 2.0 / 3);
  EXPECT_DOUBLE_EQ(accuracy_score().of(labels({7, 3}), labels({7, 4})), 0.5)
      << "answers may be class numbers";
}

TEST(Scores, AreTheRootOfTheMeanSquaredError) {
  EXPECT_DOUBLE_EQ(
      rmse_score().of(Tensor::of<float>({2, 1}, {1, 5}), Tensor::of<float>({2, 1}, {4, 1})),
      std::sqrt(12.5));
}

TEST(Scores, SuitWhatIsRight) {
  EXPECT_EQ(score_for({DType::int64, {}}).name, "accuracy");
  EXPECT_EQ(score_for({DType::int32, {}}).name, "accuracy");
  EXPECT_EQ(score_for({DType::float32, {1}}).name, "rmse");
}

TEST(Scores, RefuseWhatDoesNotFit) {
  const auto accuracy = [](const Tensor& answers, const Tensor& right) {
    return test::message_of([&] { (void)accuracy_score().of(answers, right); });
  };
  EXPECT_THAT(accuracy(Tensor(DType::float32, {2, 2}), labels({1, 2, 3})),
              HasSubstr("float32 [2, 2]"));
  EXPECT_THAT(accuracy(Tensor(DType::float32, {2, 2}), Tensor(DType::float32, {2})),
              HasSubstr("accuracy"));
  EXPECT_THAT(accuracy(Tensor(DType::float32, {0, 2}), labels({})), HasSubstr("accuracy"));
  EXPECT_THAT(test::message_of([] {
                (void)rmse_score().of(Tensor(DType::float32, {2}), Tensor(DType::float32, {2, 1}));
              }),
              HasSubstr("rmse"));
}

}  // namespace
}  // namespace troupe
