// Runs whose disk is held back by the test.
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "actors/training_run.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/ensemble/ensemble_training.h"
#include "troupe/actors/stages/staged_training.h"

namespace troupe {
namespace {

/// What becomes of the checkpoints that this process syncs to disk.
class Disk {
 public:
  void hold() { set(State::held); }
  void let_go() { set(State::free); }
  void fail() { set(State::full); }

  bool sync() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_ != State::held; });
    return state_ == State::free;
  }

 private:
  enum class State { free, held, full };
  void set(State state) {
    const std::lock_guard guard(mutex_);
    state_ = state;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::free;
};
Disk disk;

}  // namespace
}  // namespace troupe

/// In place of the C library's.
extern "C" int fsync(int file) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), error);
  const bool is_checkpoint = path.filename().string().starts_with("ckpt-");
  if (!is_checkpoint || troupe::disk.sync()) return static_cast<int>(syscall(SYS_fsync, file));
  errno = ENOSPC;
  return -1;
}

namespace troupe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::chrono::minutes kPatience{2};

class ASlowDisk : public test::ATrainingRun {
 protected:
  ~ASlowDisk() override { disk.let_go(); }

  TrainingOptions each_step() {
    auto o = options();
    o.checkpoints.directory = path("run");
    o.checkpoints.every = 1;
    o.checkpoints.keep = 0;
    o.events = [this](const std::string& words) { hear(words); };
    return o;
  }
  void hear(const std::string& words) {
    const std::lock_guard guard(mutex);
    heard.push_back(words);
    changed.notify_all();
  }
  /// The first event with these words.
  std::string wait_for(const std::string& words) {
    std::unique_lock lock(mutex);
    std::string found;
    EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] {
      for (const auto& event : heard)
        if (event.find(words) != std::string::npos) found = event;
      return !found.empty();
    })) << words;
    return found;
  }
  template <class Run>
  void begin(Run& training) {
    disk.hold();
    ending = std::async(std::launch::async, [&training] { return training.run(); });
  }
  TrainingOutcome end() { return ending.get(); }
  std::size_t checkpoints(const std::string& directory) {
    return CheckpointDirectory(directory).list().size();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> heard;
  std::future<TrainingOutcome> ending;
};

TEST_F(ASlowDisk, HasTrainingWaitAndGoOnHoweverReplicasWorkTogether) {
  struct Way {
    const char* policy;
    const char* all_reduce = "";
    std::vector<PolicyGroup> groups = {};
    bool with_data = true;
  };
  const std::vector<Way> ways{{"sync"},
                              {"async"},
                              {"ssp:2"},
                              {"sync:backups=1"},
                              {"sync", "ring"},
                              {"sync", "", {{"out/*", "async"}}},
                              {"sync", "", {}, false}};
  for (const auto& way : ways) {
    SCOPED_TRACE(text(way.policy, ' ', way.all_reduce, ' ', way.groups.size()));
    heard.clear();
    auto o = each_step();
    o.deterministic = false;
    o.replicas = 2;
    o.shards = way.all_reduce[0] != '\0' ? 1 : 2;
    o.aggregation.policy = way.policy;
    if (way.all_reduce[0] != '\0') o.aggregation.all_reduce = way.all_reduce;
    o.aggregation.groups = way.groups;
    o.checkpoints.data = way.with_data;
    o.checkpoints.directory = path(text("run ", &way - ways.data()));
    o.max_steps = 12;
    Training training(test::small_model, batches(6), o);
    begin(training);
    EXPECT_THAT(wait_for("training waits for the disk"), StartsWith("step 2: "));
    EXPECT_EQ(checkpoints(o.checkpoints.directory), 0u);
    disk.let_go();
    const auto outcome = end();
    EXPECT_EQ(outcome.ending, Ending::steps_done) << outcome.message;
    EXPECT_EQ(outcome.steps, 12u);
    EXPECT_EQ(checkpoints(o.checkpoints.directory), 12u);
    EXPECT_TRUE(training.stop(kPatience).empty());
  }
}

TEST_F(ASlowDisk, ChangesNoBitOfADeterministicRun) {
  auto o = options();
  o.replicas = 2;
  const auto wanted = train(o);
  o = each_step();
  o.replicas = 2;
  Training training(test::small_model, batches(3), o);
  begin(training);
  wait_for("training waits for the disk");
  disk.let_go();
  EXPECT_EQ(end().ending, Ending::end_of_data);
  for (auto& record : Checkpoint::open(path("run")).read_all())
    if (record.kind == TensorKind::variable) {
      EXPECT_TRUE(same_bits(record.value, wanted.at(record.name))) << record.name;
    }
}

TEST_F(ASlowDisk, DoesNotKeepARunFromBeingStopped) {
  auto o = each_step();
  o.replicas = 2;
  Training training(test::small_model, batches(6), o);
  begin(training);
  wait_for("training waits for the disk");
  training.request_stop();
  disk.let_go();
  const auto outcome = end();
  EXPECT_EQ(outcome.ending, Ending::stopped);
  EXPECT_EQ(outcome.checkpoint, text(path("run"), "/ckpt-", outcome.steps));
}

TEST_F(ASlowDisk, EndsTheRunWithItsWordsWhenItIsFull) {
  Training training(test::small_model, batches(6), each_step());
  begin(training);
  wait_for("training waits for the disk");
  disk.fail();
  const auto outcome = end();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, AllOf(HasSubstr("checkpointer"), HasSubstr("No space left")));
}

TEST_F(ASlowDisk, DoesNotHoldUpARunWhoseCheckpointerIsLost) {
  Training training(test::small_model, batches(6), each_step());
  begin(training);
  wait_for("training waits for the disk");
  training.kill("checkpointer");
  disk.let_go();  // it ends after what it was writing
  const auto outcome = end();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr("checkpointer ended"));
}

TEST_F(ASlowDisk, LetsReplicasBeReplacedAndAdded) {
  auto o = each_step();
  o.deterministic = false;
  o.replicas = 2;
  o.max_steps = 20;
  Training training(test::small_model, batches(12), o);
  begin(training);
  wait_for("training waits for the disk");
  training.add_replica();
  training.kill("replica 1");
  wait_for("replica 1 was lost");
  disk.let_go();
  wait_for("replica 1 is started again");
  const auto outcome = end();
  EXPECT_EQ(outcome.ending, Ending::steps_done) << outcome.message;
  EXPECT_EQ(outcome.restarts, 1u);
  EXPECT_EQ(checkpoints(path("run")), 20u);
}

TEST_F(ASlowDisk, HasStagesWaitAndGoOn) {
  StagedModel model;
  model.input = {DType::float32, {-1, 4}};
  model.labels = {DType::float32, {-1, 1}};
  model.stages = {[](Output x) { return nn::dense(x, 8, {.name = "hidden"}); },
                  [](Output x) { return nn::dense(x, 1, {.name = "out"}); }};
  model.loss = [](Output y, Output labels) { return nn::mean_squared_error(y, labels); };
  StagedTrainingOptions o;
  o.threads = {2, 1};
  o.checkpoints = each_step().checkpoints;
  o.events = each_step().events;
  o.max_steps = 10;
  StagedTraining training(model, batches(6), o);
  begin(training);
  EXPECT_THAT(wait_for("training waits for the disk"), StartsWith("step 2: "));
  disk.let_go();
  const auto outcome = end();
  EXPECT_EQ(outcome.ending, Ending::steps_done) << outcome.message;
  EXPECT_EQ(checkpoints(path("run")), 10u);
}

TEST_F(ASlowDisk, HasMembersOfAnEnsembleWaitAndGoOn) {
  auto member = options();
  member.max_steps = 10;
  member.checkpoints.every = 1;
  member.checkpoints.keep = 0;
  EnsembleTrainingOptions o;
  o.threads = {2, 1};
  o.directory = path("ensemble");
  o.events = [this](const std::string& words) { hear(words); };
  EnsembleTraining training({{"a", test::small_model, member}, {"b", test::small_model, member}},
                            batches(6), o);
  disk.hold();
  auto ended = std::async(std::launch::async, [&] { return training.run(); });
  EXPECT_THAT(wait_for("member 'a': step 2: checkpoints fall due"),
              HasSubstr("waits for the disk"));
  wait_for("member 'b': step 2: checkpoints fall due");
  disk.let_go();
  EXPECT_FALSE(ended.get().failed());
  EXPECT_EQ(checkpoints(path("ensemble/a")), 10u);
  EXPECT_EQ(checkpoints(path("ensemble/b")), 10u);
  EXPECT_TRUE(training.stop(kPatience).empty());
}

}  // namespace
}  // namespace troupe
