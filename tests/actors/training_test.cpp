#include "troupe/actors/training/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>
#include <utility>

#include "actors/training_run.h"
#include "support/error_matcher.h"
#include "support/message_of.h"
#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/session.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

using test::ATrainingRun;
using test::expect_near;
using test::small_model;

TEST_F(ATrainingRun, GivesTheSameWeightsWithOneTwoAndFourReplicas) {
  const auto one = train(options());
  EXPECT_EQ(outcome.steps, 30u);
  for (const int replicas : {2, 4}) {
    auto o = options();
    o.replicas = replicas;
    o.shards = replicas;
    expect_near(one, train(o));
    EXPECT_EQ(outcome.steps, 30u);
    EXPECT_EQ(outcome.examples, 720);
  }
}

TEST_F(ATrainingRun, GivesTheSameBitsEachTimeWhenDeterministic) {
  auto o = options();
  o.replicas = 4;
  o.shards = 2;
  const auto first = train(o);
  const auto second = train(o);
  for (const auto& [name, value] : first) EXPECT_TRUE(same_bits(value, second.at(name))) << name;
}

TEST_F(ATrainingRun, LearnsWithAsynchronousReplicasToo) {
  auto o = options();
  o.deterministic = false;
  o.aggregation.policy = "async";
  o.replicas = 2;
  o.shards = 2;
  o.learning_rate = 0.02;
  o.evaluation.data = batches(1, 240);
  train(o, 20);
  EXPECT_EQ(outcome.examples, 4800);
  // Of the last parameters: the last step may have been computed from old ones.
  EXPECT_LT(outcome.evaluation.at(0), 0.1);
}

TEST_F(ATrainingRun, IsExplainedWhileItGoesOn) {
  auto o = options();
  std::promise<void> moves;
  o.progress_interval = std::chrono::milliseconds(1);
  o.progress = [&, told = false](const Progress& progress) mutable {
    if (progress.step == 0 || std::exchange(told, true)) return;
    moves.set_value();
  };
  Training training(small_model, batches(0), o);
  EXPECT_EQ(test::error_of([&] { training.explain(); }).code(), Code::failed_precondition);
  std::thread other([&] {
    EXPECT_EQ(moves.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    EXPECT_EQ(training.explain().topology.all(Role::replica).size(), 1U);
    training.request_stop();
  });
  EXPECT_EQ(training.run().ending, Ending::stopped);
  other.join();
  EXPECT_EQ(training.explain().topology.all(Role::shard).size(), 1U);
}

TEST_F(ATrainingRun, EvaluatesTheMovingAveragesWhereThereAreSome) {
  auto o = options();
  o.average_decay = 0.999;
  o.max_steps = 7;
  o.evaluation.data = batches(1, 240);
  const auto values = train(o);
  std::map<std::string, Tensor> averages;
  for (auto& record : Checkpoint::open(path("run-1")).read_all())
    if (record.kind == TensorKind::moving_average) averages.emplace(record.variable, record.value);
  const auto model = small_model(false);
  Session session(model.graph);
  BatchIterator all(*o.evaluation.data);
  const auto batch = all.next();
  ASSERT_TRUE(batch);
  const auto loss = [&](const std::map<std::string, Tensor>& weights) {
    session.restore(weights);
    return session
        .run(model.loss,
             {{model.inputs[0], batch->components[0]}, {model.inputs[1], batch->components[1]}})
        .item();
  };
  EXPECT_NEAR(outcome.evaluation.at(0), loss(averages), 1e-6);
  EXPECT_GT(std::abs(loss(averages) - loss(values)), 1e-4);
}

TEST_F(ATrainingRun, GoesOnFromACheckpoint) {
  auto o = options();
  o.checkpoints.directory = path("resumed");
  o.max_steps = 10;
  EXPECT_EQ(Training(small_model, batches(0), o).run().steps, 10u);
  o.max_steps = 15;
  EXPECT_THROW(Training(small_model, batches(0), o).run(), Error);  // it holds a run already
  o.checkpoints.resume = true;
  const auto again = Training(small_model, batches(0), o).run();
  EXPECT_EQ(again.steps, 15u) << again.message;
  EXPECT_EQ(again.examples, 5 * 24);
}

TEST_F(ATrainingRun, GoesOnFromAnOlderCheckpointInAnotherDirectory) {
  auto o = options();
  o.checkpoints.directory = path("first");
  o.checkpoints.every = 4;
  o.max_steps = 10;
  Training(small_model, batches(0), o).run();
  o.checkpoints.resume_from = path("first/ckpt-4");
  o.max_steps = 6;
  EXPECT_THAT(test::message_of([&] { Training(small_model, batches(0), o).run(); }),
              HasSubstr("first has other checkpoints, up to step 10"));
  o.checkpoints.directory = path("second");
  const auto again = Training(small_model, batches(0), o).run();
  EXPECT_EQ(again.steps, 6u) << again.message;
  EXPECT_EQ(again.examples, 2 * 24);
  // The newest of a directory may be gone on from in that directory.
  o.checkpoints.resume_from = path("second/ckpt-6");
  o.max_steps = 7;
  EXPECT_EQ(Training(small_model, batches(0), o).run().steps, 7u);
}

TEST_F(ATrainingRun, WritesTheCheckpointOfTheLastStepOnce) {
  auto o = options();
  o.checkpoints.every = 5;
  o.checkpoints.keep = 0;
  o.checkpoints.directory = path("once");
  o.max_steps = 10;
  EXPECT_EQ(Training(small_model, batches(0), o).run().checkpoint, path("once/ckpt-10"));
  for (const auto& file : std::filesystem::directory_iterator(path("once")))
    EXPECT_EQ(file.path().filename().string().find("rewrite"), std::string::npos) << file.path();
}

TEST_F(ATrainingRun, ExplainsWhereItsTimeWent) {
  auto o = options();
  o.replicas = 2;
  o.evaluation.data = read_text({path("x.txt")})
                          .zip(read_text({path("y.txt")}))
                          .decode({numbers({4}), numbers({1})})
                          .buffer(50)
                          .batch(100, Remainder::keep);
  Training training(small_model, batches(20), o);
  EXPECT_THROW(training.explain(), Error);
  training.run();
  const auto explanation = training.explain();
  std::vector<std::string> names;
  for (const auto& node : explanation.topology.nodes) names.push_back(node.name);
  EXPECT_THAT(names, IsSupersetOf({"reader", "decoder 0", "decoder 1", "shuffle queue", "feeder",
                                   "replica 0", "replica 1", "shard 0", "device CPU:0", "evaluator",
                                   "evaluation reader"}));
  EXPECT_EQ(explanation.activity.nodes.size(), names.size());
  EXPECT_FALSE(summary(explanation, KnobStyle::options).empty());
  EXPECT_TRUE(explanation.stalls.empty());
}

TEST_F(ATrainingRun, TellsWhySummariesCannotBeWritten) {
  auto o = options();
  o.summary_directory = path("summaries");
  std::ofstream(o.summary_directory) << "a file, in which no directory can be made";
  const auto outcome = Training(small_model, batches(0), o).run();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr("summary writer ended: cannot create"));
}

TEST_F(ATrainingRun, KeepsACheckpointEverySoManySteps) {
  auto o = options();
  o.checkpoints.every = 4;
  o.checkpoints.keep = 0;
  o.checkpoints.directory = path("many");
  o.max_steps = 10;
  Training(small_model, batches(0), o).run();
  EXPECT_EQ(CheckpointDirectory(o.checkpoints.directory).list(),
            (std::vector<std::int64_t>{4, 8, 10}));
}

TEST_F(ATrainingRun, EndsAtTheGoalOfTheEvaluation) {
  auto o = options();
  o.evaluation.data = read_text({path("x.txt")})
                          .zip(read_text({path("y.txt")}))
                          .decode({numbers({4}), numbers({1})})
                          .buffer(50)
                          .batch(100, Remainder::keep);
  // Steps go on while the evaluation is made: without momentum none of them makes it worse.
  o.optimizer = optim::sgd();
  o.evaluation.every = 1;
  o.evaluation.stop_below = 0.05;
  const auto ended = Training(small_model, batches(0), o).run();
  EXPECT_EQ(ended.ending, Ending::goal_met) << ended.message;
  EXPECT_LT(ended.evaluation.at(0), 0.05);
}

TEST_F(ATrainingRun, FailsWithFileLineAndFieldOfABadRow) {
  std::ofstream(path("x.txt"), std::ios::app) << "1 2 oops 4\n";
  std::ofstream(path("y.txt"), std::ios::app) << "1\n";
  const auto ended = Training(small_model, batches(1), options()).run();
  EXPECT_EQ(ended.ending, Ending::failed);
  EXPECT_THAT(ended.message, HasSubstr("x.txt:241:5"));
  EXPECT_THAT(ended.message, HasSubstr("oops"));
}

TEST_F(ATrainingRun, FailsWithThePlaceOfANumberThatIsNotFinite) {
  std::ofstream(path("x.txt"), std::ios::app) << "1 nan 3 4\n";
  std::ofstream(path("y.txt"), std::ios::app) << "1\n";
  const auto ended = Training(small_model, batches(1), options()).run();
  EXPECT_EQ(ended.ending, Ending::failed);
  EXPECT_THAT(ended.message, HasSubstr("x.txt:241: field 1 is nan"));
}

TEST_F(ATrainingRun, FailsAndKeepsNothingWhenTheDataFillNoBatch) {
  auto o = options();
  o.checkpoints.directory = path("nothing");
  const auto ended = Training(small_model, batches(1, 1000), o).run();
  EXPECT_EQ(ended.ending, Ending::failed);
  EXPECT_THAT(ended.message, HasSubstr("fewer rows than a batch"));
  EXPECT_TRUE(CheckpointDirectory(o.checkpoints.directory).list().empty());
}

TEST_F(ATrainingRun, SaysThatThereIsNothingToResume) {
  auto o = options();
  o.checkpoints.directory = path("nowhere");
  o.checkpoints.resume = true;
  EXPECT_THROW(Training(small_model, batches(1), o).run(), Error);
}

TEST_F(ATrainingRun, RefusesSizesThatTheMachineDoesNotHave) {
  EXPECT_THROW(Training(small_model, batches(1, std::int64_t{1} << 31), options()), Error);
  auto o = options();
  o.replicas = 5000;
  EXPECT_THROW(Training(small_model, batches(1), o), Error);
}

TEST_F(ATrainingRun, FailsWithBothPlacesWhenOneFileIsShorter) {
  std::ofstream(path("y.txt"), std::ios::app) << "1\n";
  const auto ended = Training(small_model, batches(1), options()).run();
  EXPECT_EQ(ended.ending, Ending::failed);
  EXPECT_THAT(ended.message, HasSubstr("x.txt:240"));
  EXPECT_THAT(ended.message, HasSubstr("y.txt:241"));
}

TEST_F(ATrainingRun, StopsWhenAskedAndKeepsWhatItHas) {
  auto o = options();
  o.deterministic = false;
  o.checkpoints.directory = path("stopped");
  std::unique_ptr<Training> training;
  o.progress_interval = std::chrono::milliseconds(20);
  o.progress = [&](const Progress& p) {
    if (p.step > 0) training->request_stop();
  };
  training = std::make_unique<Training>(small_model, batches(0), o);
  const auto ended = training->run();
  EXPECT_EQ(ended.ending, Ending::stopped) << ended.message;
  EXPECT_EQ(Checkpoint::open(o.checkpoints.directory).step(),
            static_cast<std::int64_t>(ended.steps));
}

TEST_F(ATrainingRun, SaysAtOnceWhenModelAndDataDoNotFit) {
  const auto narrow = read_text({path("x.txt")})
                          .zip(read_text({path("y.txt")}))
                          .decode({numbers({2, 2}), numbers({1})})
                          .buffer(10)
                          .batch(5, Remainder::drop);
  try {
    Training(small_model, narrow, options());
    FAIL() << "[2, 2] fitted [4]";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "input 'x' of the training model is float32 [?, 4], but component 0 of its data "
                 "is float32 [?, 2, 2]");
  }
}

TEST_F(ATrainingRun, TellsItsTopologyAndMemoryBound) {
  auto o = options();
  o.replicas = 2;
  const auto words = Training(small_model, batches(2), o).describe();
  EXPECT_THAT(words, HasSubstr("2 replicas, sync, deterministic <-> 1 shard"));
  EXPECT_THAT(words, HasSubstr("data in flight take at most"));
}

TEST_F(ATrainingRun, TellsThatItsReplicasAllReduce) {
  auto o = options();
  o.replicas = 3;
  o.aggregation.all_reduce = "ring";
  const auto words = Training(small_model, batches(3), o).describe();
  EXPECT_THAT(words, HasSubstr("3 replicas, sync, deterministic, ring all-reduce with "));
  EXPECT_THAT(words, Not(HasSubstr("shard")));
}

}  // namespace
}  // namespace troupe
