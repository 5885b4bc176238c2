// Weights that leave a run while it goes on.

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/ensemble/model_ensemble.h"
#include "troupe/actors/ensemble/model_member.h"
#include "troupe/ops/matmul.h"

namespace troupe {
namespace {

using test::small_model;
using ::testing::HasSubstr;

class PublishedWeights : public test::ATrainingRun {
 protected:
  std::vector<Parameters> published;
  TrainingOptions publishing(std::uint64_t every) {
    auto o = options();
    o.shards = 2;
    o.publish = {every, [this](const Parameters& weights) { published.push_back(weights); }};
    return o;
  }
};

TEST_F(PublishedWeights, AreThoseOfTheCheckpointAtTheEnd) {
  const auto weights = train(publishing(0));
  ASSERT_EQ(published.size(), 1u);
  const auto& last = published[0];
  EXPECT_EQ(last.version, outcome.steps);
  ASSERT_EQ(last.names.size(), weights.size());
  for (std::size_t i = 0; i < last.names.size(); ++i)
    EXPECT_TRUE(same_bits(last.values[i], weights.at(last.names[i]))) << last.names[i];
}

TEST_F(PublishedWeights, AreWholeAlsoWhenVariablesAreInParts) {
  auto o = publishing(0);
  o.max_shard_bytes = 40;  // of 128 for the larger one
  const auto weights = train(o);
  ASSERT_EQ(published.size(), 1u);
  ASSERT_EQ(published[0].names.size(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_TRUE(same_bits(published[0].values[i], weights.at(published[0].names[i])))
        << published[0].names[i];
}

TEST_F(PublishedWeights, ComeFromWhoHasTakenThePlaceOfAShardThatDied) {
  for (const bool all_reduce : {false, true}) {
    published.clear();
    auto o = publishing(2);
    if (all_reduce) {
      o.shards = 1;
      o.replicas = 2;
      o.aggregation.all_reduce = "ring";
    } else {
      o.backup_shards = 1;
    }
    Training* killed = nullptr;
    o.publish.to = [&](const Parameters& weights) {
      published.push_back(weights);
      if (published.size() == 2) killed->kill("shard 0");
    };
    o.checkpoints.directory = path(all_reduce ? "reduced" : "copied");
    Training training(small_model, batches(10), o);
    killed = &training;
    outcome = training.run();
    EXPECT_EQ(outcome.ending, Ending::end_of_data) << outcome.message;
    ASSERT_GE(published.size(), 3u);
    EXPECT_EQ(published.back().version, outcome.steps);
    const auto saved = Checkpoint::open(o.checkpoints.directory);
    for (std::size_t i = 0; i < published.back().names.size(); ++i)
      EXPECT_TRUE(same_bits(published.back().values[i], saved.read(published.back().names[i])));
  }
}

TEST_F(PublishedWeights, ComeWhileTheRunGoesOnAndAreNeverOlderThanBefore) {
  Training* asked = nullptr;
  auto o = publishing(5);
  o.publish.to = [&](const Parameters& weights) {
    published.push_back(weights);
    if (published.size() == 3) asked->request_stop();
  };
  Training training(small_model, batches(0), o);  // which has no end of its own
  asked = &training;
  outcome = training.run();
  EXPECT_EQ(outcome.ending, Ending::stopped) << outcome.message;
  ASSERT_GE(published.size(), 3u);
  EXPECT_GE(published.front().version, 5u);
  EXPECT_EQ(published.back().version, outcome.steps);
  for (std::size_t i = 1; i < published.size(); ++i)
    EXPECT_GE(published[i].version, published[i - 1].version);
}

TEST_F(PublishedWeights, AreMovingAveragesWhereThereAreSome) {
  auto o = publishing(0);
  o.average_decay = 0.9;
  train(o);
  std::map<std::string, Tensor> averages;
  for (auto& record : Checkpoint::open(path("run-1")).read_all())
    if (record.kind == TensorKind::moving_average) averages.emplace(record.variable, record.value);
  ASSERT_EQ(published.at(0).names.size(), averages.size());
  for (std::size_t i = 0; i < averages.size(); ++i)
    EXPECT_TRUE(same_bits(published[0].values[i], averages.at(published[0].names[i])));
}

TEST_F(PublishedWeights, AreAlsoTakenFromRunsWithSummaries) {
  auto o = publishing(5);
  o.summary_directory = path("summaries");
  train(o);
  EXPECT_EQ(published.back().version, outcome.steps);
  EXPECT_FALSE(std::filesystem::is_empty(path("summaries/train")));
}

TEST_F(PublishedWeights, DoNotEndTheRunWhenNobodyCanTakeThem) {
  auto o = options();
  std::vector<std::string> events;
  o.events = [&](const std::string& event) { events.push_back(event); };
  o.publish = {0, [](const Parameters&) { fail(Code::unavailable, "the ensemble is gone"); }};
  train(o);
  EXPECT_EQ(outcome.steps, 30u);
  ASSERT_FALSE(events.empty());
  EXPECT_THAT(events.back(), HasSubstr("the ensemble is gone"));
}

TEST_F(PublishedWeights, AreNotThoseOfARunThatHasFailed) {
  auto o = publishing(0);
  o.learning_rate = 1e30;
  Training training(small_model, batches(3), o);
  EXPECT_EQ(training.run().ending, Ending::failed);
  EXPECT_TRUE(published.empty());
}

TEST_F(PublishedWeights, NeedSomebodyWhoTakesThem) {
  auto o = options();
  o.publish.every = 3;
  EXPECT_THAT(test::message_of([&] { Training(small_model, batches(1), o); }),
              HasSubstr("publish.to"));
}

TEST_F(PublishedWeights, ChangeWhatAnEnsembleAnswersWhileManyAskIt) {
  const auto model = [](bool) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
    const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
    m.inputs = {x, y};
    m.predictions = nn::dense(nn::dense(x, 8, {.name = "hidden"}), 1, {.name = "out"});
    m.loss = nn::mean_squared_error(m.predictions, y);
    return m;
  };
  Parameters first;
  const auto built = model(false);
  for (const auto& variable : built.graph->variables()) {
    first.names.push_back(variable.name());
    first.values.emplace_back(variable.spec().dtype, variable.spec().shape);
  }
  ModelEnsemble ensemble(EnsembleOptions{}, {2, 1});
  ensemble.join("learner", model, first);
  const auto question = Tensor::of<float>({1, 4}, {0.5f, -1, 2, 0.25f});

  std::vector<Parameters> taken{first};
  auto o = options();
  o.publish = {3, [&](const Parameters& weights) {
                 ensemble.assign("learner", weights);
                 taken.push_back(weights);
               }};
  std::atomic<bool> over{false};
  std::vector<std::vector<Tensor>> answers(3);
  std::vector<std::thread> askers;
  for (auto& said : answers)
    askers.emplace_back([&] {
      while (!over.load()) said.push_back(ensemble.run({question}).outputs[0]);
    });
  Training training(model, batches(20), o);
  EXPECT_EQ(training.run().steps, 200u);
  over = true;
  for (auto& asker : askers) asker.join();
  ASSERT_GE(taken.size(), 2u);

  // Each answer is that of some weights as a whole, and they follow one another.
  std::vector<Tensor> possible;
  for (const auto& weights : taken) {
    ensemble.assign("learner", weights);
    possible.push_back(ensemble.run({question}).outputs[0]);
  }
  for (const auto& said : answers) {
    std::size_t at = 0;
    for (const auto& answer : said) {
      while (at < possible.size() && !same_bits(answer, possible[at])) ++at;
      ASSERT_LT(at, possible.size()) << "an answer of weights that nobody has published";
    }
  }
}

}  // namespace
}  // namespace troupe
