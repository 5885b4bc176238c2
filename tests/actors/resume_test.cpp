#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "actors/counted_records.h"
#include "actors/killed_run.h"
#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/checkpoint/data_file.h"
#include "troupe/ops/error.h"
#include "troupe/ops/reductions.h"

namespace troupe {
namespace {

using test::counting_model;
using test::kill_again_and_again;
using test::kRecords;
using test::kRows;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Weights = std::map<std::string, Tensor>;

/// Like counting_model, but with two weights for each record, of which one may have a policy of its
/// own.
Model twice_counting_model(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, kRecords});
  m.inputs = {x};
  const auto counted = [&](const std::string& name) {
    return nn::dense(x, 1, {.name = name, .kernel_initializer = init::zeros(), .use_bias = false});
  };
  m.loss = reduce_mean(add(counted("count"), counted("own")));
  return m;
}

class Resume : public test::ATrainingRun {
 protected:
  Resume() { test::write_records(path("ids.txt")); }
  Batches records(std::int64_t epochs) const {
    return read_text({path("ids.txt")})
        .repeat(epochs)
        .decode({numbers({kRecords})}, {.decoders = 3, .block_records = 5})
        .shuffle({.capacity = 40, .min_after_dequeue = 20})
        .batch(kRows, Remainder::keep);
  }
  static TrainingOptions counting() {
    TrainingOptions o;
    o.optimizer = optim::sgd();
    o.learning_rate = static_cast<double>(kRows);
    o.threads = {2, 1};
    o.checkpoints.keep = 0;
    return o;
  }
  static Weights weights_in(const std::string& directory) {
    Weights weights;
    for (auto& record : Checkpoint::open(directory).read_all())
      weights.emplace(record.name, record.value);
    return weights;
  }
  static void expect_same_bits(const Weights& a, const Weights& b, const std::string& what) {
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, value] : a)
      EXPECT_TRUE(same_bits(value, b.at(name))) << name << ", " << what;
  }
  static void expect_each_record(const Weights& weights, double times) {
    const auto& count = weights.at("count/weights");
    for (std::int64_t i = 0; i < kRecords; ++i)
      EXPECT_NEAR(-count.at(i), times, 1e-3) << "record " << i;
  }

  /// Goes on from each checkpoint of an undisturbed run, and expects its last weights.
  void expect_the_same_from_every_checkpoint(const ModelFunction& model, const Batches& data,
                                             TrainingOptions o) {
    o.checkpoints.keep = 0;
    o.checkpoints.directory = path("whole");
    const auto whole = Training(model, data, o).run();
    ASSERT_NE(whole.ending, Ending::failed) << whole.message;
    const auto expected = weights_in(path("whole"));
    const auto steps = CheckpointDirectory(path("whole")).list();
    ASSERT_GT(steps.size(), 3u);
    for (const auto step : steps) {
      if (step == steps.back()) continue;
      auto again = o;
      again.checkpoints.directory = path("from-" + std::to_string(step));
      again.checkpoints.resume_from = path("whole/ckpt-" + std::to_string(step));
      again.events = [](const std::string& words) {
        EXPECT_THAT(words, HasSubstr("waits for the disk"));  // the only thing that may be told
      };
      const auto end = Training(model, data, again).run();
      ASSERT_NE(end.ending, Ending::failed) << end.message;
      EXPECT_EQ(end.steps, whole.steps);
      expect_same_bits(expected, weights_in(again.checkpoints.directory),
                       "from step " + std::to_string(step));
    }
  }

  /// The same run once more, resumed if there is something to resume.
  template <class Report>
  static bool go_on(const ModelFunction& model, const Batches& data, TrainingOptions o,
                    const Report& report) {
    o.checkpoints.resume = CheckpointDirectory(o.checkpoints.directory).latest().has_value();
    o.progress = report;
    o.progress_interval = std::chrono::milliseconds(1);
    return Training(model, data, o).run().ending != Ending::failed;
  }
};

TEST_F(Resume, GivesTheBitsOfTheUndisturbedRun) {
  auto o = options();
  o.checkpoints.every = 4;
  o.average_decay = 0.9;
  expect_the_same_from_every_checkpoint(test::small_model, batches(3), o);
}

TEST_F(Resume, GivesTheSameBitsWithSeveralReplicasAndShards) {
  auto o = options();
  o.replicas = 3;
  o.shards = 2;
  o.aggregation.accumulate = 2;
  o.aggregation.clip_norm = 0.5;
  o.checkpoints.every = 3;
  expect_the_same_from_every_checkpoint(test::small_model, batches(4), o);
}

TEST_F(Resume, GivesTheSameBitsWithLocalSteps) {
  auto o = options();
  o.replicas = 2;
  o.aggregation.policy = "local:3";
  o.checkpoints.every = 6;
  expect_the_same_from_every_checkpoint(test::small_model, batches(4), o);
}

TEST_F(Resume, TrainsOnEachRecordOnceHoweverReplicasWorkTogether) {
  for (const std::string policy : {"sync", "async", "ssp:1", "sync:backups=1"}) {
    auto o = counting();
    o.replicas = 3;
    o.shards = 2;
    o.aggregation.policy = policy;
    o.checkpoints.every = 5;
    o.checkpoints.directory = path("whole " + policy);
    const auto data = records(4);
    const auto whole = Training(counting_model, data, o).run();
    ASSERT_EQ(whole.ending, Ending::end_of_data) << whole.message;
    if (policy != "sync:backups=1") expect_each_record(weights_in(o.checkpoints.directory), 4);
    for (const auto step : CheckpointDirectory(o.checkpoints.directory).list()) {
      const auto from = o.checkpoints.directory + "/ckpt-" + std::to_string(step);
      auto again = o;
      again.checkpoints.directory = path(policy + std::to_string(step));
      again.checkpoints.resume_from = from;
      const auto end = Training(counting_model, data, again).run();
      ASSERT_EQ(end.ending, Ending::end_of_data) << end.message;
      if (end.steps > static_cast<std::uint64_t>(step) && policy != "sync:backups=1")
        expect_each_record(weights_in(again.checkpoints.directory), 4);
    }
  }
}

TEST_F(Resume, GivesTheSameBitsAfterKillsAtAnyMoment) {
  auto o = options();
  o.replicas = 2;
  o.checkpoints.every = 3;
  const auto data = batches(12);
  o.checkpoints.directory = path("whole");
  ASSERT_NE(Training(test::small_model, data, o).run().ending, Ending::failed);
  o.checkpoints.directory = path("killed");
  kill_again_and_again(
      [&](const auto& report) { return go_on(test::small_model, data, o, report); });
  expect_same_bits(weights_in(path("whole")), weights_in(path("killed")), "killed");
}

TEST_F(Resume, LosesNoRecordByKillsOfAsynchronousRuns) {
  auto o = counting();
  o.replicas = 3;
  o.aggregation.policy = "async";
  o.checkpoints.every = 4;
  o.checkpoints.directory = path("killed");
  const auto data = records(10);
  kill_again_and_again([&](const auto& report) { return go_on(counting_model, data, o, report); });
  expect_each_record(weights_in(path("killed")), 10);
}

TEST_F(Resume, TrainsOnEachRecordOnceForVariablesWithTheirOwnPolicies) {
  // Two replicas share a batch, so that a set makes 1 / 4 of each of its records, times kRows:
  // by itself 2, and 1 as half of a mean.
  auto o = counting();
  o.replicas = 2;
  o.aggregation.groups = {{"own/*", "async"}};
  o.checkpoints.every = 5;
  o.checkpoints.directory = path("whole");
  const auto data = records(4);
  const auto expect_all = [&](const std::string& directory, const std::string& what) {
    const auto weights = weights_in(directory);
    expect_each_record(weights, 4);
    for (std::int64_t i = 0; i < kRecords; ++i)
      EXPECT_NEAR(-weights.at("own/weights").at(i), 8, 1e-3) << "record " << i << what;
  };
  ASSERT_EQ(Training(twice_counting_model, data, o).run().ending, Ending::end_of_data);
  expect_all(path("whole"), "");
  const auto steps = CheckpointDirectory(path("whole")).list();
  ASSERT_GT(steps.size(), 8u);
  for (const auto step : steps) {
    if (step == steps.back()) continue;
    auto again = o;
    again.checkpoints.directory = path("from-" + std::to_string(step));
    again.checkpoints.resume_from = path("whole/ckpt-" + std::to_string(step));
    ASSERT_EQ(Training(twice_counting_model, data, again).run().ending, Ending::end_of_data);
    expect_all(again.checkpoints.directory, ", from " + std::to_string(step));
  }
}

TEST_F(Resume, TrainsOnEachRecordOnceWhereOnlySomeVariablesAreSynchronous) {
  auto o = counting();
  o.replicas = 3;
  o.aggregation.policy = "async";
  o.aggregation.groups = {{"own/*", "sync"}};
  o.checkpoints.every = 5;
  o.checkpoints.directory = path("whole");
  const auto data = records(4);
  ASSERT_EQ(Training(twice_counting_model, data, o).run().ending, Ending::end_of_data);
  for (const auto step : CheckpointDirectory(path("whole")).list()) {
    auto again = o;
    again.checkpoints.directory = path("from-" + std::to_string(step));
    again.checkpoints.resume_from = path("whole/ckpt-" + std::to_string(step));
    const auto end = Training(twice_counting_model, data, again).run();
    ASSERT_EQ(end.ending, Ending::end_of_data) << end.message;
    if (end.steps == static_cast<std::uint64_t>(step)) continue;
    const auto weights = weights_in(again.checkpoints.directory);
    expect_each_record(weights, 4);
    // A third of a record in a round of three, a half or all of it when others have left.
    for (std::int64_t i = 0; i < kRecords; ++i)
      EXPECT_GE(-weights.at("own/weights").at(i), 4 / 3.0 - 1e-3) << "record " << i;
  }
}

TEST_F(Resume, LosesNoRecordByKillsWhereVariablesHaveTheirOwnPolicies) {
  auto o = counting();
  o.replicas = 2;
  o.aggregation.groups = {{"own/*", "async"}};
  o.checkpoints.every = 4;
  o.checkpoints.directory = path("killed");
  const auto data = records(10);
  kill_again_and_again(
      [&](const auto& report) { return go_on(twice_counting_model, data, o, report); });
  const auto weights = weights_in(path("killed"));
  expect_each_record(weights, 10);
  for (std::int64_t i = 0; i < kRecords; ++i)
    EXPECT_NEAR(-weights.at("own/weights").at(i), 20, 1e-3) << "record " << i;
}

TEST_F(Resume, GoesOnAfterItWasAskedToStop) {
  auto o = counting();
  o.replicas = 2;
  o.aggregation.policy = "async";
  o.checkpoints.directory = path("stopped");
  const auto data = records(10);
  {
    std::unique_ptr<Training> training;
    o.progress_interval = std::chrono::milliseconds(1);
    o.progress = [&](const Progress& p) {
      if (p.step > 0) training->request_stop();
    };
    training = std::make_unique<Training>(counting_model, data, o);
    ASSERT_NE(training->run().ending, Ending::failed);
  }
  o.progress = {};
  o.checkpoints.resume = true;
  const auto end = Training(counting_model, data, o).run();
  ASSERT_EQ(end.ending, Ending::end_of_data) << end.message;
  expect_each_record(weights_in(path("stopped")), 10);
}

TEST_F(Resume, GivesTheBitsOfTheUndisturbedRunAfterItWasAskedToStop) {
  for (const int replicas : {1, 3})
    for (const int accumulate : {1, 2})
      for (const bool shuffled : {false, true}) {
        auto o = options();
        o.replicas = replicas;
        o.aggregation.accumulate = accumulate;
        const auto ordered = read_text({path("x.txt")})
                                 .zip(read_text({path("y.txt")}))
                                 .repeat(40)
                                 .decode({numbers({4}), numbers({1})}, {.block_records = 7})
                                 .buffer(50)
                                 .batch(24, Remainder::keep);
        const auto data = shuffled ? batches(40) : ordered;
        const auto place = text(replicas, accumulate, shuffled);
        o.checkpoints.directory = path("whole-" + place);
        const auto steps = Training(test::small_model, data, o).run().steps;
        o.checkpoints.directory = path("stopped-" + place);
        for (const std::uint64_t at : {1UL, steps / 3, steps / 2}) {
          Training* asked = nullptr;
          o.checkpoints.resume = at > 1;
          o.progress_interval = std::chrono::milliseconds(1);
          o.progress = [&](const Progress& p) {
            if (p.step >= at) asked->request_stop();
          };
          Training training(test::small_model, data, o);
          asked = &training;
          ASSERT_NE(training.run().ending, Ending::failed);
        }
        o.progress = {};
        // Steps that are done leave the same behind.
        o.max_steps = steps * 3 / 4;
        ASSERT_NE(Training(test::small_model, data, o).run().ending, Ending::failed);
        o.max_steps = 0;
        ASSERT_NE(Training(test::small_model, data, o).run().ending, Ending::failed);
        expect_same_bits(weights_in(path("whole-" + place)), weights_in(path("stopped-" + place)),
                         place);
      }
}

TEST_F(Resume, GivesTheSameBitsAfterAStopWhileALostReplicaIsAway) {
  for (const std::string all_reduce : {"none", "ring"}) {
    auto o = options();
    o.replicas = 2;
    o.aggregation.all_reduce = all_reduce;
    o.restarts.delay = o.restarts.longest_delay = std::chrono::hours(1);
    o.checkpoints.directory = path("whole-" + all_reduce);
    const auto steps = Training(test::small_model, batches(20), o).run().steps;
    o.checkpoints.directory = path("stopped-" + all_reduce);
    {
      Training* going = nullptr;
      o.progress_interval = std::chrono::milliseconds(1);
      o.progress = [&, killed = false](const Progress& p) mutable {
        if (p.step >= 3 && !std::exchange(killed, true)) going->kill("replica 0");
      };
      o.events = [&](const std::string& event) {
        if (event.find("replica 0") != std::string::npos) going->request_stop();
      };
      Training training(test::small_model, batches(20), o);
      going = &training;
      const auto outcome = training.run();
      EXPECT_EQ(outcome.ending, Ending::stopped) << outcome.message;
      EXPECT_LT(outcome.steps, steps);
    }
    o.progress = {};
    o.events = {};
    o.checkpoints.resume = true;
    const auto outcome = Training(test::small_model, batches(20), o).run();
    EXPECT_EQ(outcome.steps, steps);
    expect_same_bits(weights_in(path("whole-" + all_reduce)),
                     weights_in(path("stopped-" + all_reduce)), all_reduce);
  }
}

TEST_F(Resume, LosesNoRecordWithOtherReplicas) {
  auto o = counting();
  o.replicas = 3;
  o.checkpoints.every = 5;
  o.checkpoints.directory = path("three");
  const auto data = records(4);
  ASSERT_EQ(Training(counting_model, data, o).run().ending, Ending::end_of_data);
  o.replicas = 2;
  o.checkpoints.resume_from = path("three/ckpt-5");
  o.checkpoints.directory = path("two");
  ASSERT_EQ(Training(counting_model, data, o).run().ending, Ending::end_of_data);
  // Shares of batches are batches now, which count more; but every record came.
  const auto weights = weights_in(path("two")).at("count/weights");
  for (std::int64_t i = 0; i < kRecords; ++i) EXPECT_GE(-weights.at(i), 3.999) << "record " << i;
}

TEST_F(Resume, ReadsFromTheBeginningWhereACheckpointHasNoData) {
  auto o = counting();
  o.checkpoints.directory = path("without");
  o.checkpoints.data = false;
  o.max_steps = 6;
  const auto data = records(1);
  EXPECT_EQ(Training(counting_model, data, o).run().steps, 6u);
  std::vector<std::string> notes;
  o.events = [&](const std::string& words) { notes.push_back(words); };
  o.max_steps = 0;
  o.checkpoints.resume = true;
  const auto end = Training(counting_model, data, o).run();
  EXPECT_EQ(end.steps, 6u + kRecords / kRows);
  EXPECT_THAT(notes, Contains(HasSubstr("has no data in it: they are read from the beginning")));
}

TEST_F(Resume, ReadsFromTheBeginningWhenAskedTo) {
  auto o = counting();
  o.checkpoints.directory = path("run");
  o.max_steps = 6;
  const auto data = records(1);
  Training(counting_model, data, o).run();
  o.max_steps = 0;
  o.checkpoints.resume = true;
  o.checkpoints.data_from_start = true;
  EXPECT_EQ(Training(counting_model, data, o).run().steps, 6u + kRecords / kRows);
}

TEST_F(Resume, EndsAtOnceWhenAllDataHaveBeenTrainedOn) {
  auto o = counting();
  o.checkpoints.directory = path("done");
  const auto data = records(1);
  const auto steps = Training(counting_model, data, o).run().steps;
  o.checkpoints.resume = true;
  std::vector<std::string> events;
  o.events = [&](const std::string& words) { events.push_back(words); };
  const auto again = Training(counting_model, data, o).run();
  EXPECT_EQ(again.ending, Ending::end_of_data) << again.message;
  EXPECT_EQ(again.steps, steps);
  EXPECT_THAT(events, Contains(AllOf(HasSubstr("the data end where the checkpoint stands"),
                                     HasSubstr("--data-from-start"))));
  events.clear();
  // More of the same data go on behind them.
  const auto more = Training(counting_model, records(3), o).run();
  EXPECT_EQ(more.ending, Ending::end_of_data) << more.message;
  expect_each_record(weights_in(path("done")), 3);
  EXPECT_THAT(events, IsEmpty());
}

TEST_F(Resume, SaysThatAnotherOptimizerBeginsAnew) {
  auto o = counting();
  o.checkpoints.directory = path("run");
  o.max_steps = 3;
  o.optimizer = optim::momentum(0.9);
  Training(counting_model, records(1), o).run();
  o.checkpoints.resume = true;
  o.max_steps = 4;
  std::vector<std::string> events;
  o.events = [&](const std::string& words) { events.push_back(words); };
  Training(counting_model, records(1), o).run();
  EXPECT_THAT(events, ElementsAre());
  o.max_steps = 5;
  o.optimizer = optim::adam();
  Training(counting_model, records(1), o).run();
  EXPECT_THAT(events, ElementsAre(AllOf(HasSubstr("has no 'm', 'v' of adam("),
                                        HasSubstr("the optimizer begins anew"))));
}

TEST_F(Resume, RefusesLabelsThatWouldHideTheData) {
  auto o = counting();
  o.labels["data"] = "mine";
  EXPECT_THAT(test::message_of([&] { Training(counting_model, records(1), o); }),
              HasSubstr("no label is called 'data'"));
}

TEST_F(Resume, SaysInWhichEpochReadingWasToGoOn) {
  auto o = counting();
  o.checkpoints.directory = path("run");
  Training(counting_model, records(3), o).run();
  o.checkpoints.resume = true;
  EXPECT_THAT(test::message_of([&] { Training(counting_model, records(1), o).run(); }),
              HasSubstr("reading was to go on in epoch 3, but there are 1"));
}

TEST_F(Resume, RefusesOtherDataAndDamagedStates) {
  auto o = counting();
  o.checkpoints.directory = path("run");
  o.max_steps = 3;
  Training(counting_model, records(1), o).run();
  o.checkpoints.resume = true;
  o.max_steps = 5;
  std::filesystem::copy(path("ids.txt"), path("others.txt"));
  const auto others = read_text({path("others.txt")})
                          .decode({numbers({kRecords})})
                          .buffer(40)
                          .batch(kRows, Remainder::keep);
  EXPECT_THAT(test::message_of([&] { Training(counting_model, others, o).run(); }),
              HasSubstr("stands in the middle of"));

  const auto file = path("run/ckpt-3.data.safetensors");
  ASSERT_TRUE(std::filesystem::exists(file));
  const auto size = std::filesystem::file_size(file);
  const auto resumed = [&] {
    return test::message_of([&] { Training(counting_model, records(1), o).run(); });
  };
  {
    std::fstream damage(file, std::ios::in | std::ios::out | std::ios::binary);
    damage.seekp(static_cast<std::streamoff>(size) - 100);
    damage << "damage";
  }
  EXPECT_THAT(resumed(), HasSubstr("is damaged"));
  std::filesystem::resize_file(file, size / 2);
  EXPECT_THAT(resumed(), HasSubstr("ckpt-3.data.safetensors"));
  std::filesystem::remove(file);
  EXPECT_THAT(resumed(), HasSubstr("is missing"));
  // The weights are whole, and can be had without.
  o.checkpoints.data_from_start = true;
  EXPECT_EQ(Training(counting_model, records(1), o).run().steps, 5u);
}

TEST_F(Resume, RemovesTheDataWithTheirCheckpoint) {
  auto o = counting();
  o.checkpoints.directory = path("run");
  o.checkpoints.every = 2;
  o.checkpoints.keep = 2;
  o.max_steps = 8;
  Training(counting_model, records(1), o).run();
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(path("run")))
    if (const auto name = file.path().filename().string(); name.find(".data.") != name.npos)
      files.push_back(name);
  std::ranges::sort(files);
  EXPECT_EQ(files,
            (std::vector<std::string>{"ckpt-6.data.safetensors", "ckpt-8.data.safetensors"}));
}

}  // namespace
}  // namespace troupe
