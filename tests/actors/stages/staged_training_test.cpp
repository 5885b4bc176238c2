#include "troupe/actors/stages/staged_training.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/pipeline/records.h"
#include "troupe/actors/training/training.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Le;

using Weights = std::map<std::string, Tensor>;

Output first_layers(Output x) {
  return nn::dense(x, 8, {.name = "hidden", .activation = tanh, .l2 = 0.01});
}
Output middle_layers(Output x) { return nn::dense(x, 6, {.name = "hidden", .activation = tanh}); }
Output last_layers(Output x) { return nn::dense(x, 1, {.name = "out"}); }

StagedModel three_stages() {
  StagedModel m;
  m.input = {DType::float32, {-1, 4}};
  m.labels = {DType::float32, {-1, 1}};
  m.stages = {first_layers, middle_layers, last_layers};
  m.loss = [](Output predictions, Output labels) {
    return nn::mean_squared_error(predictions, labels);
  };
  return m;
}

/// The same in one piece, with the same names.
Model uncut(bool) {
  const auto cut = three_stages();
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", cut.input.dtype, cut.input.shape);
  const auto y = placeholder(*m.graph, "y", cut.labels.dtype, cut.labels.shape);
  Output value = x;
  for (std::size_t i = 0; i < cut.stages.size(); ++i) {
    const NameScope scope(*m.graph, text("stage_", i));
    value = cut.stages[i](value);
  }
  m.inputs = {x, y};
  m.loss = cut.loss(value, y);
  for (const auto& regularizer : m.graph->regularizers()) m.loss = m.loss + regularizer;
  return m;
}

class AStagedTraining : public ::testing::Test {
 protected:
  AStagedTraining() {
    std::ofstream x(directory / "x.txt"), y(directory / "y.txt");
    for (int i = 0; i < 120; ++i) {
      for (int k = 0; k < 4; ++k) x << (k ? " " : "") << std::sin(i * (k + 1) * 0.37);
      x << '\n';
      y << std::sin(i * 0.37) * 0.5 + 0.1 << '\n';
    }
  }
  Batches batches(Remainder remainder = Remainder::drop, std::int64_t rows = 24) const {
    return read_text({directory / "x.txt"})
        .zip(read_text({directory / "y.txt"}))
        .decode({numbers({4}), numbers({1})}, {.decoders = 1})
        .buffer(100)
        .batch(rows, remainder)
        .in_order();
  }
  StagedTrainingOptions options() {
    StagedTrainingOptions o;
    o.learning_rate = schedule::exponential(0.05, 2, 0.5);
    o.threads = {.inter_op = 2, .intra_op = 1};
    o.listener = [this](const std::vector<StageReport>& step) { steps.push_back(step); };
    return o;
  }
  Weights train(const StagedTrainingOptions& o) {
    StagedTraining training(three_stages(), batches(), o);
    outcome = training.run();
    EXPECT_NE(outcome.ending, Ending::failed) << outcome.message;
    Weights weights;
    for (const auto& stage : training.snapshots())
      for (const auto& saved : stage.tensors)
        if (saved.slot.empty()) weights.emplace(saved.variable, saved.values);
    return weights;
  }
  Weights train_uncut() {
    TrainingOptions o;
    o.learning_rate = schedule::exponential(0.05, 2, 0.5);
    o.threads = {.inter_op = 2, .intra_op = 1};
    o.deterministic = true;
    o.checkpoints.directory = directory / "uncut";
    Training training(uncut, batches(), o);
    outcome = training.run();
    EXPECT_NE(outcome.ending, Ending::failed) << outcome.message;
    Weights weights;
    for (auto& record : Checkpoint::open(o.checkpoints.directory).read_all())
      if (record.kind == TensorKind::variable) weights.emplace(record.name, record.value);
    return weights;
  }

  test::TemporaryDirectory directory;
  TrainingOutcome outcome;
  std::vector<std::vector<StageReport>> steps;
};

void expect_near(const Weights& a, const Weights& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a)
    for (std::int64_t i = 0; i < value.size(); ++i)
      EXPECT_NEAR(value.at(i), b.at(name).at(i), 1e-5) << name << ", value " << i;
}

TEST_F(AStagedTraining, GivesTheWeightsOfTheUncutModelHoweverItIsScheduled) {
  const auto wanted = train_uncut();
  const auto loss = outcome.training.at(0);
  EXPECT_EQ(outcome.steps, 5u);
  for (const auto schedule : {StageSchedule::gpipe, StageSchedule::one_forward_one_back})
    for (const int micro_batches : {1, 4, 5, 100}) {
      auto o = options();
      o.schedule = schedule;
      o.micro_batches = micro_batches;
      expect_near(train(o), wanted);
      EXPECT_EQ(outcome.steps, 5u);
      EXPECT_EQ(outcome.examples, 120);
      EXPECT_NEAR(outcome.training.at(0), loss, 1e-5);
    }
}

TEST_F(AStagedTraining, GivesTheSameBitsEachTime) {
  const auto once = train(options());
  EXPECT_EQ(once, train(options()));
}

TEST_F(AStagedTraining, GoesOnFromEveryCheckpointWithTheSameBits) {
  const auto model = [] {
    auto m = three_stages();
    m.stages[1] = [](Output x) { return nn::dropout(middle_layers(x), 0.3, true); };
    return m;
  }();
  const auto all = [&](const std::string& path) {
    Weights tensors;  // slots, too
    for (auto& record : Checkpoint::open(path).read_all())
      tensors.emplace(record.name, record.value);
    return tensors;
  };
  const auto data = read_text({directory / "x.txt"})
                        .zip(read_text({directory / "y.txt"}))
                        .repeat(4)
                        .decode({numbers({4}), numbers({1})}, {.decoders = 3, .block_records = 7})
                        .shuffle({.capacity = 60, .min_after_dequeue = 30})
                        .batch(24, Remainder::keep);
  auto o = options();
  o.deterministic = true;
  o.checkpoints.directory = directory / "whole";
  o.checkpoints.every = 3;
  o.checkpoints.keep = 0;
  const auto whole = StagedTraining(model, data, o).run();
  ASSERT_EQ(whole.ending, Ending::end_of_data) << whole.message;
  EXPECT_EQ(whole.steps, 20u);
  EXPECT_EQ(whole.checkpoint, directory / "whole/ckpt-20");
  const auto wanted = all(directory / "whole");
  EXPECT_EQ(wanted.size(), 12u);  // six variables, each with its momentum
  const auto kept = CheckpointDirectory(directory / "whole").list();
  EXPECT_THAT(kept, ElementsAre(3, 6, 9, 12, 15, 18, 20));
  for (const auto step : kept) {
    auto again = o;
    again.checkpoints.directory = directory / text("from-", step);
    again.checkpoints.resume_from = text(directory / "whole/ckpt-", step);
    again.events = [](const std::string& words) {
      EXPECT_THAT(words, HasSubstr("waits for the disk"));  // the only thing that may be told
    };
    const auto end = StagedTraining(model, data, again).run();
    ASSERT_EQ(end.ending, Ending::end_of_data) << end.message;
    EXPECT_EQ(end.steps, 20u);
    if (step < 20) {
      EXPECT_EQ(all(again.checkpoints.directory), wanted) << step;
    }
  }
}

TEST_F(AStagedTraining, KeepsWhatItHasWhenItIsStoppedAndGoesOnInTheSameDirectory) {
  auto o = options();
  o.deterministic = true;
  const auto wanted = train(o);
  o.checkpoints.directory = directory / "stopped";
  o.max_steps = 2;
  train(o);
  EXPECT_EQ(outcome.steps, 2u);
  EXPECT_EQ(outcome.checkpoint, directory / "stopped/ckpt-2");
  EXPECT_THAT(error_of([&] { train(o); }),
              IsError(Code::already_exists, HasSubstr("resume it, or choose another directory")));
  o.checkpoints.resume = true;
  o.max_steps = 0;
  EXPECT_EQ(train(o), wanted);
  EXPECT_EQ(outcome.steps, 5u);
}

TEST_F(AStagedTraining, SaysWhatItCannotGoOnFrom) {
  auto o = options();
  o.checkpoints.directory = directory / "run";
  o.checkpoints.resume = true;
  EXPECT_THAT(error_of([&] { train(o); }),
              IsError(Code::not_found, HasSubstr("nothing to resume")));
  o.checkpoints.resume = false;
  o.labels["program"] = "a";
  train(o);
  o.checkpoints.resume = true;
  o.labels["program"] = "b";
  EXPECT_THAT(error_of([&] { train(o); }),
              IsError(Code::failed_precondition, HasSubstr("belongs to another run")));
  o.checkpoints.keep_best = 1;
  EXPECT_THAT(error_of([&] { train(o); }), IsError(Code::invalid_argument, HasSubstr("keep_best")));
  // Where the data were not kept they are read again, and that is said.
  std::vector<std::string> heard;
  auto without = options();
  without.checkpoints.directory = directory / "without";
  without.checkpoints.data = false;
  train(without);
  without.checkpoints.resume = true;
  without.events = [&](const std::string& words) { heard.push_back(words); };
  train(without);
  EXPECT_EQ(outcome.steps, 10u);
  EXPECT_THAT(heard, ElementsAre(HasSubstr("has no data in it")));
}

TEST_F(AStagedTraining, HoldsNoMoreActivationsThanItsScheduleSays) {
  auto o = options();
  o.micro_batches = 8;
  train(o);
  for (const auto& step : steps)
    EXPECT_THAT(step, Each(Field(&StageReport::most_activations, Le(3u))));
  steps.clear();
  o.schedule = StageSchedule::gpipe;
  train(o);
  EXPECT_EQ(steps.at(0).at(0).most_activations, 8u);
}

TEST_F(AStagedTraining, StopsAtTheLastStepAndWhenAsked) {
  auto o = options();
  o.max_steps = 2;
  train(o);
  EXPECT_EQ(outcome.steps, 2u);
  EXPECT_EQ(outcome.ending, Ending::steps_done);
  o.max_steps = 0;
  StagedTraining training(three_stages(), batches(), o);
  training.request_stop();
  EXPECT_NE(training.run().ending, Ending::failed);
}

TEST_F(AStagedTraining, TakesALastBatchThatIsSmaller) {
  StagedTraining training(three_stages(), batches(Remainder::keep, 50), options());
  EXPECT_EQ(training.run().examples, 120);
}

TEST_F(AStagedTraining, SaysWhichStageFailedAndWhy) {
  auto model = three_stages();
  model.stages[1] = [](Output x) { return check_numerics(log(middle_layers(x)), "of the logs"); };
  StagedTraining training(model, batches(), options());
  outcome = training.run();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr("stage 1: "));
  EXPECT_THAT(outcome.message, HasSubstr("of the logs"));
}

TEST_F(AStagedTraining, SaysWhichRecordIsBad) {
  std::ofstream(directory / "x.txt", std::ios::app) << "1 2 three 4\n";
  std::ofstream(directory / "y.txt", std::ios::app) << "1\n";
  StagedTraining training(three_stages(), batches(), options());
  outcome = training.run();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr("x.txt:121"));
}

TEST_F(AStagedTraining, IsNotBuiltOfWhatDoesNotFit) {
  const auto build = [&](const StagedModel& model) { StagedTraining(model, batches(), options()); };
  auto model = three_stages();
  model.stages.resize(1);
  EXPECT_THAT(error_of([&] { build(model); }),
              IsError(Code::invalid_argument, HasSubstr("at least two stages")));
  model = three_stages();
  model.stages[1] = [](Output x) { return tanh(x); };
  EXPECT_THAT(error_of([&] { build(model); }),
              IsError(Code::invalid_argument, HasSubstr("stage 1: there is no variable")));
  model = three_stages();
  model.loss = [](Output predictions, Output) { return predictions; };
  EXPECT_THAT(error_of([&] { build(model); }),
              IsError(Code::invalid_argument, HasSubstr("not a scalar")));
  model = three_stages();
  model.input = {DType::float32, {-1, 5}};
  EXPECT_THAT(error_of([&] { build(model); }),
              IsError(Code::invalid_argument, HasSubstr("component 0 of the data is")));
  auto o = options();
  o.micro_batches = 0;
  EXPECT_THAT(error_of([&] { StagedTraining(three_stages(), batches(), o); }),
              IsError(Code::invalid_argument, HasSubstr("micro-batches")));
}

TEST_F(AStagedTraining, DescribesItself) {
  const StagedTraining training(three_stages(), batches(), options());
  EXPECT_THAT(training.describe(), HasSubstr("3 stages, 4 micro-batches a step, 1f1b"));
  EXPECT_THAT(training.describe(), HasSubstr("stage 0: 2 variables, 160 bytes, at most 3"));
  EXPECT_THAT(training.describe(), HasSubstr("33 % of the time at best"));
}

}  // namespace
}  // namespace troupe
