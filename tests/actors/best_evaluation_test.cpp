#include "troupe/actors/training/best_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"

namespace troupe {
namespace {

using ::testing::HasSubstr;

TEST(BestEvaluation, IsTheSmallestOrTheLargestByMoreThanTheDelta) {
  BestEvaluation smallest({.min_delta = 0.1});
  EXPECT_TRUE(smallest.take(1, 1.0));
  EXPECT_FALSE(smallest.take(2, 0.95));
  EXPECT_TRUE(smallest.take(3, 0.8));
  EXPECT_EQ(smallest.step(), 3u);
  BestEvaluation largest({.larger_is_better = true});
  EXPECT_TRUE(largest.take(1, 0.5));
  EXPECT_FALSE(largest.take(2, 0.5));
  EXPECT_TRUE(largest.take(3, 0.6));
}

TEST(BestEvaluation, IsExhaustedAfterSoManyThatAreNoBetter) {
  BestEvaluation best({.patience = 2});
  best.take(1, 1);
  best.take(2, 2);
  EXPECT_FALSE(best.exhausted());
  best.take(3, 0.5);
  best.take(4, std::nan(""));
  EXPECT_FALSE(best.exhausted());
  best.take(5, 0.7);
  EXPECT_TRUE(best.exhausted());
}

TEST(BestEvaluation, GoesOnFromItsText) {
  BestEvaluation best({.patience = 2});
  EXPECT_EQ(best.str(), "");
  best.take(300, 0.1);
  best.take(400, 0.2);
  BestEvaluation again({.patience = 2});
  again.restore(best.str());
  EXPECT_EQ(again.str(), best.str());
  EXPECT_EQ(again.value(), 0.1);
  again.take(500, 0.1);
  EXPECT_TRUE(again.exhausted());
  EXPECT_THAT(test::message_of([&] { again.restore("step 3 value what since 2"); }),
              HasSubstr("not the best evaluation of a run"));
}

using Keeping = test::ATrainingRun;

TEST_F(Keeping, KeepsTheWeightsOfTheBestEvaluation) {
  auto o = options();
  o.checkpoints.directory = path("run");
  o.checkpoints.keep_best = 1;
  o.evaluation.data = batches(1, 240);
  o.evaluation.every = 5;
  o.evaluation.answer_best = true;
  const auto ended = Training(test::small_model, batches(3), o).run();
  ASSERT_NE(ended.ending, Ending::failed) << ended.message;
  EXPECT_EQ(CheckpointDirectory(path("run/best")).list().size(), 1u);
  const auto best = Checkpoint::open(path("run/best"));
  EXPECT_EQ(ended.checkpoint, best.name());
  EXPECT_EQ(ended.evaluation.at(0), best.manifest().metrics.at("loss"));
  EXPECT_EQ(Checkpoint::open(path("run/last")).step(), 30);
  EXPECT_TRUE(best.has("out/weights"));
}

TEST_F(Keeping, EndsWhenEvaluationsBecomeNoBetterAlsoAfterAResume) {
  auto o = options();
  o.learning_rate = 0;
  o.checkpoints.directory = path("run");
  o.evaluation.data = batches(1, 240);
  o.evaluation.every = 1;
  o.evaluation.patience = 1'000'000;
  o.max_steps = 10;
  ASSERT_EQ(Training(test::small_model, batches(0), o).run().ending, Ending::steps_done);
  o.evaluation.patience = 1;
  o.max_steps = 100'000;
  o.checkpoints.resume = true;
  const auto ended = Training(test::small_model, batches(0), o).run();
  EXPECT_EQ(ended.ending, Ending::no_better) << ended.message;
}

TEST_F(Keeping, RefusesWhatCannotBeCompared) {
  auto o = options();
  o.checkpoints.directory = path("run");
  o.checkpoints.keep_best = 1;
  const auto refusal = [&] {
    return test::message_of([&] { Training(test::small_model, batches(1), o).run(); });
  };
  EXPECT_THAT(refusal(), HasSubstr("keep_best need evaluation.data"));
  o.evaluation.data = batches(1, 240);
  o.evaluation.best_by = "accuracy";
  EXPECT_THAT(refusal(), HasSubstr("evaluations have no value 'accuracy'"));
}

}  // namespace
}  // namespace troupe
