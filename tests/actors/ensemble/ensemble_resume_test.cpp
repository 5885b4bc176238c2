#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "actors/counted_records.h"
#include "actors/killed_run.h"
#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/checkpoint/data_file.h"
#include "troupe/actors/ensemble/ensemble_training.h"

namespace troupe {
namespace {

using test::counting_model;
using test::kRecords;
using test::kRows;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kBatches = kRecords / kRows;  // of an epoch

using Weights = std::map<std::string, Tensor>;
using Members = std::vector<TrainedMember>;

/// What each member has had is known by the weights of counting_model.
class AnEnsembleThatIsResumed : public test::ATrainingRun {
 protected:
  AnEnsembleThatIsResumed() { test::write_records(path("ids.txt")); }

  /// Counts what it decodes.
  Batches records(std::int64_t epochs, std::int64_t rows = kRows) const {
    return read_text({path("ids.txt")})
        .repeat(epochs)
        .decode({numbers({kRecords})}, {.decoders = 3, .block_records = 5})
        .map([decoded = decoded](Element element) {
          ++*decoded;
          return element;
        })
        .shuffle({.capacity = 40, .min_after_dequeue = 20})
        .batch(rows, Remainder::keep);
  }
  static TrainingOptions counting(std::uint64_t every = 5) {
    TrainingOptions o;
    o.optimizer = optim::sgd();
    o.learning_rate = static_cast<double>(kRows);
    o.checkpoints.every = every;
    return o;
  }
  static TrainedMember member(const std::string& name, std::uint64_t steps = 0) {
    auto o = counting();
    o.max_steps = steps;
    return {name, counting_model, o};
  }
  EnsembleTrainingOptions together(const std::string& name = "ensemble") const {
    EnsembleTrainingOptions o;
    o.threads = {2, 1};
    o.directory = path(name);
    return o;
  }
  EnsembleTrainingOptions again() const {
    auto o = together();
    o.resume = true;
    return o;
  }
  /// The number of the first batch that a member has not had.
  std::uint64_t next_of(const std::string& place) const {
    return read_data(Checkpoint::open(path(place)))->pipeline.queue.batches;
  }
  /// Once more, resumed if there is something to resume.
  static EnsembleTrainingOptions resumed(EnsembleTrainingOptions o, const Members& members) {
    o.resume = std::any_of(members.begin(), members.end(), [&](const auto& member) {
      return CheckpointDirectory(o.directory + "/" + member.name).latest().has_value();
    });
    return o;
  }
  static void expect_well(const EnsembleOutcome& outcome) {
    for (const auto& member : outcome.members)
      EXPECT_NE(member.training.ending, Ending::failed) << member.training.message;
  }
  static EnsembleOutcome run(const Members& members, const Batches& data,
                             const EnsembleTrainingOptions& o) {
    auto outcome = EnsembleTraining(members, data, o).run();
    expect_well(outcome);
    return outcome;
  }
  /// Runs until that member has reported that step, and stops then.
  static EnsembleOutcome stop_at(const std::string& member, std::uint64_t step, Members members,
                                 const Batches& data, EnsembleTrainingOptions o) {
    for (auto& one : members) one.options.progress_interval = std::chrono::milliseconds(1);
    EnsembleTraining* asked = nullptr;
    o.progress = [&](const std::string& name, const Progress& progress) {
      if (name == member && progress.step >= step) asked->request_stop();
    };
    EnsembleTraining training(std::move(members), data, o);
    asked = &training;
    auto outcome = training.run();
    expect_well(outcome);
    return outcome;
  }
  Weights weights_in(const std::string& place) const {
    Weights weights;
    for (auto& record : Checkpoint::open(path(place)).read_all())
      weights.emplace(record.name, record.value);
    return weights;
  }
  void expect_same_bits(const std::string& a, const std::string& b) const {
    const auto wanted = weights_in(a), got = weights_in(b);
    ASSERT_EQ(wanted.size(), got.size());
    for (const auto& [name, value] : wanted)
      EXPECT_TRUE(same_bits(value, got.at(name))) << name << " of " << b;
  }
  void expect_each_record(const std::string& place, double times) const {
    const auto count = weights_in(place).at("count/weights");
    for (std::int64_t i = 0; i < kRecords; ++i)
      EXPECT_NEAR(-count.at(i), times, 1e-3) << "record " << i << " of " << place;
  }
  EventListener into(std::vector<std::string>& events) {
    return [&](const std::string& words) {
      const std::lock_guard guard(mutex);
      events.push_back(words);
    };
  }
  void remove_checkpoints(const std::string& place) const {
    for (const auto& file : std::filesystem::directory_iterator(path(place)))
      if (file.path().filename().string().rfind("ckpt-", 0) == 0)
        std::filesystem::remove(file.path());
  }

  std::shared_ptr<std::atomic<std::int64_t>> decoded =
      std::make_shared<std::atomic<std::int64_t>>(0);
  std::mutex mutex;
};

/// Members of different speeds, with checkpoints at different steps.
Members of_many_kinds(TrainingOptions o) {
  auto quick = o, two = o, evaluated = o, brief = o;
  quick.checkpoints.every = 3;
  two.replicas = two.shards = 2;
  two.checkpoints.every = 7;
  two.checkpoints.keep = 1;
  evaluated.aggregation.accumulate = 2;
  evaluated.checkpoints.every = 4;
  evaluated.checkpoints.keep_best = 2;
  evaluated.evaluation.every = 5;
  evaluated.average_decay = 0.9;
  brief.max_steps = 30;
  return {{"quick", test::small_model, quick},
          {"two", test::small_model, two},
          {"evaluated", test::small_model, evaluated},
          {"brief", test::small_model, brief}};
}

TEST_F(AnEnsembleThatIsResumed, GivesTheBitsOfTheUndisturbedRunAfterKillsAtAnyMoment) {
  auto members = of_many_kinds(options());
  members[2].options.evaluation.data = batches(1);
  const auto data = batches(12);
  auto o = together("whole");
  o.max_lag = 2;
  run(members, data, o);
  o.directory = path("killed");
  test::kill_again_and_again([&](const auto& report) {
    auto again = resumed(o, members);
    again.progress = [&](const auto&...) { report(); };
    for (auto& one : members) one.options.progress_interval = std::chrono::milliseconds(1);
    return !EnsembleTraining(members, data, again).run().failed();
  });
  for (const auto& member : members) {
    expect_same_bits("whole/" + member.name, "killed/" + member.name);
    EXPECT_EQ(CheckpointDirectory(path("whole/" + member.name)).list().size(),
              CheckpointDirectory(path("killed/" + member.name)).list().size());
  }
}

TEST_F(AnEnsembleThatIsResumed, LosesNoRecordByKillsAtAnyMoment) {
  auto async = counting(4), sync = counting(7);
  async.replicas = 3;
  async.aggregation.policy = "async";
  sync.replicas = 2;
  const Members members{{"async", counting_model, async}, {"sync", counting_model, sync}};
  const auto data = records(10);
  test::kill_again_and_again([&](const auto& report) {
    auto again = resumed(together(), members);
    again.progress = [&](const auto&...) { report(); };
    auto reporting = members;
    for (auto& one : reporting) one.options.progress_interval = std::chrono::milliseconds(1);
    return !EnsembleTraining(reporting, data, again).run().failed();
  });
  expect_each_record("ensemble/async", 10);
  expect_each_record("ensemble/sync", 10);
}

TEST_F(AnEnsembleThatIsResumed, GoesOnAfterItWasAskedToStop) {
  auto async = counting(0);
  async.replicas = 3;
  async.aggregation.policy = "async";
  const Members members{{"a", counting_model, counting(0)}, {"b", counting_model, async}};
  const auto data = records(200);
  for (const std::uint64_t step : {1, 300, 900})
    stop_at("a", step, members, data, resumed(together(), members));
  for (const auto& member : run(members, data, resumed(together(), members)).members)
    EXPECT_EQ(member.training.ending, Ending::end_of_data) << member.name;
  expect_each_record("ensemble/a", 200);
  expect_each_record("ensemble/b", 200);
}

TEST_F(AnEnsembleThatIsResumed, GivesTheSameBitsAfterItWasAskedToStop) {
  auto members = of_many_kinds(options());
  for (auto& one : members) one.options.checkpoints.every = 0;
  members[2].options.evaluation.data = batches(1);
  const auto data = batches(100);
  run(members, data, together("whole"));
  for (const std::uint64_t step : {1, 200, 400})
    stop_at("two", step, members, data, resumed(together("stopped"), members));
  run(members, data, resumed(together("stopped"), members));
  for (const auto& member : members)
    expect_same_bits("whole/" + member.name, "stopped/" + member.name);
}

TEST_F(AnEnsembleThatIsResumed, SaysNothingWhenAllIsAsItWas) {
  Members members{member("a", 20), member("b", 25)};
  for (auto& one : members) one.options.checkpoints.every = 0;
  run(members, records(4), together());
  std::vector<std::string> events;
  auto o = again();
  o.events = into(events);
  for (auto& one : members) one.options.max_steps = 0;
  run(members, records(4), o);
  EXPECT_THAT(events, IsEmpty());
  expect_each_record("ensemble/a", 4);
  expect_each_record("ensemble/b", 4);
}

TEST_F(AnEnsembleThatIsResumed, WaitsForAMemberThatLeftUntilItHasCaughtUp) {
  const auto data = records(200);
  Members members{member("left"), member("stayed")};
  for (auto& one : members) one.options.checkpoints.every = 100;
  members[0].options.progress_interval = std::chrono::milliseconds(1);
  {
    auto o = together();
    EnsembleTraining* asked = nullptr;
    o.progress = [&](const std::string& name, const Progress& progress) {
      if (name == "left" && progress.step > 0 && !progress.last) asked->leave("left");
    };
    EnsembleTraining training(members, data, o);
    asked = &training;
    expect_well(training.run());
  }
  ASSERT_LT(CheckpointDirectory(path("ensemble/left")).latest(), 200 * kBatches);
  run(members, data, again());
  expect_each_record("ensemble/left", 200);
  expect_each_record("ensemble/stayed", 200);
}

TEST_F(AnEnsembleThatIsResumed, DoesNotGoBackForAMemberThatHasDoneItsSteps) {
  const auto data = records(8);
  run({member("brief", 10), member("long", 60)}, data, together());
  *decoded = 0;
  const auto outcome = run({member("brief", 10), member("long")}, data, again());
  EXPECT_LE(*decoded, (8 * kBatches - 60) * kRows);
  EXPECT_EQ(outcome.members[0].training.ending, Ending::steps_done);
  EXPECT_EQ(outcome.members[0].training.steps, 10u);
  expect_each_record("ensemble/long", 8);
  // With more steps it goes on from where it was, and the other one has had all.
  run({member("brief"), member("long")}, data, again());
  expect_each_record("ensemble/brief", 8);
  expect_each_record("ensemble/long", 8);
}

TEST_F(AnEnsembleThatIsResumed, HasNewMembersThatBeginWithTheNextBatch) {
  const auto data = records(8);
  run({member("old", 20)}, data, together());
  const auto next = next_of("ensemble/old");
  std::vector<std::string> events;
  auto o = again();
  o.events = into(events);
  const auto outcome = run({member("old"), member("new")}, data, o);
  expect_each_record("ensemble/old", 8);
  EXPECT_EQ(outcome.members[1].training.steps, 8 * kBatches - next);
  EXPECT_THAT(events,
              Contains(text("member 'new': it has no checkpoint: it begins anew, with batch ", next,
                            ", the first that nobody has had")));
  // The same again, as if it had been killed before its first checkpoint.
  remove_checkpoints("ensemble/new");
  EXPECT_EQ(run({member("old"), member("new")}, data, o).members[1].training.steps,
            8 * kBatches - next);
}

TEST_F(AnEnsembleThatIsResumed, BeginsAnewForAMemberWithoutACheckpoint) {
  const auto data = records(6);
  run({member("a", 20), member("b", 20)}, data, together());
  remove_checkpoints("ensemble/b");  // as if it had been killed before the first one
  std::vector<std::string> events;
  auto o = again();
  o.events = into(events);
  run({member("a"), member("b")}, data, o);
  expect_each_record("ensemble/a", 6);
  expect_each_record("ensemble/b", 6);
  EXPECT_THAT(events, Contains(AllOf(HasSubstr("member 'b': it has no checkpoint"),
                                     HasSubstr("anew, with batch 0, as before"))));
}

TEST_F(AnEnsembleThatIsResumed, LetsAMemberGoOnAlone) {
  const auto data = records(6);
  run({member("a", 20), member("b", 30)}, data, together());
  auto alone = counting();
  alone.threads = {2, 1};
  alone.checkpoints.directory = path("ensemble/b");
  alone.checkpoints.resume = true;
  ASSERT_NE(Training(counting_model, data, alone).run().ending, Ending::failed);
  expect_each_record("ensemble/b", 6);
}

TEST_F(AnEnsembleThatIsResumed, MayGoOnTogetherAfterOneWentOnAlone) {
  const auto data = records(6);
  run({member("a", 20), member("b", 30)}, data, together());
  run({member("b", 45)}, data, again());
  run({member("a"), member("b")}, data, again());
  expect_each_record("ensemble/a", 6);
  expect_each_record("ensemble/b", 6);
}

TEST_F(AnEnsembleThatIsResumed, KeepsWhatAMemberPassesOver) {
  // Both are interrupted again before the one behind has reached the other.
  const auto data = records(8);
  run({member("behind", 10), member("ahead", 60)}, data, together());
  run({member("behind", 20), member("ahead", 62)}, data, again());
  run({member("behind"), member("ahead")}, data, again());
  expect_each_record("ensemble/behind", 8);
  expect_each_record("ensemble/ahead", 8);
}

TEST_F(AnEnsembleThatIsResumed, ReadsFromTheBeginningWhereNoMemberHasData) {
  Members members{member("a"), member("b")};
  for (auto& one : members) one.options.checkpoints.data = false;
  run(members, records(2), together());
  std::vector<std::string> events;
  auto o = again();
  o.events = into(events);
  run(members, records(2), o);
  expect_each_record("ensemble/a", 4);
  expect_each_record("ensemble/b", 4);
  EXPECT_THAT(events, Contains(AllOf(HasSubstr("member 'b': "), HasSubstr("has no data in it"),
                                     HasSubstr("read from the beginning"))));
}

TEST_F(AnEnsembleThatIsResumed, GivesTheNextBatchToAMemberThatHasWeightsAlone) {
  Members members{member("a", 20), member("b", 20)};
  members[1].options.checkpoints.data = false;
  run(members, records(6), together());
  const auto next = next_of("ensemble/a");
  std::vector<std::string> events;
  auto o = again();
  o.events = into(events);
  for (auto& one : members) one.options.max_steps = 0;
  const auto outcome = run(members, records(6), o);
  expect_each_record("ensemble/a", 6);
  EXPECT_EQ(outcome.members[1].training.steps, 20 + 6 * kBatches - next);
  EXPECT_THAT(events, Contains(HasSubstr(text("they go on with batch ", next))));
}

TEST_F(AnEnsembleThatIsResumed, SaysWhatIsWrongAndWithWhom) {
  const auto message = [&](const Batches& data) {
    return test::message_of([&] { EnsembleTraining({member("a"), member("b")}, data, again()); });
  };
  EXPECT_THAT(message(records(4)),
              AllOf(HasSubstr("member 'a'"), HasSubstr("there is nothing to resume")));
  run({member("a", 20), member("b", 20)}, records(4), together());

  std::filesystem::copy(path("ids.txt"), path("others.txt"));
  EXPECT_THAT(message(read_text({path("others.txt")})
                          .decode({numbers({kRecords})})
                          .buffer(40)
                          .batch(kRows, Remainder::keep)),
              AllOf(HasSubstr("member 'a'"), HasSubstr("stands in the middle of")));

  for (const auto& file : std::filesystem::directory_iterator(path("ensemble/b")))
    if (file.path().string().find("ckpt-20.data.") != std::string::npos)
      std::filesystem::resize_file(file.path(), 10);
  EXPECT_THAT(message(records(4)),
              AllOf(HasSubstr("member 'b'"), HasSubstr("ckpt-20.data.safetensors")));

  auto strict = member("c");
  strict.options.checkpoints.resume = true;
  auto o = together();
  EXPECT_THAT(test::message_of([&] { EnsembleTraining({strict}, records(4), o); }),
              AllOf(HasSubstr("member 'c'"), HasSubstr("ensemble/c has no checkpoint")));
}

TEST_F(AnEnsembleThatIsResumed, RefusesMembersOfDifferentStreams) {
  auto other = together();
  run({member("a", 20)}, records(4), other);
  other.seed = 7;
  run({member("b", 20)}, records(4), other);
  EXPECT_THAT(test::message_of([&] {
                EnsembleTraining({member("a"), member("b")}, records(4), again());
              }),
              HasSubstr("members 'a' and 'b' were not trained on one stream of batches"));
}

TEST_F(AnEnsembleThatIsResumed, DoesNotCountBatchesOfOtherSizes) {
  run({member("a", 20), member("b", 30)}, records(6), together());
  EXPECT_THAT(test::message_of([&] {
                EnsembleTraining({member("a"), member("b")}, records(6, 2 * kRows), again());
              }),
              AllOf(HasSubstr("'a' and 'b' stand at different batches"),
                    HasSubstr("cannot be found in batches of 16 rows")));
  // One member alone finds its place.
  run({member("a")}, records(6, 2 * kRows), again());
}

}  // namespace
}  // namespace troupe
