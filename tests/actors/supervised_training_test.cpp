#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/ops/error.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/reductions.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using test::ATrainingRun;
using test::small_model;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// ---- records that are counted ----------------------------------------------------------------

constexpr int kRecords = 96;

/// One weight for each record, which falls by one whenever an update is made with it: the loss
/// is the sum of the weights of the records of a batch, and these policies add up.
Model counting_model(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, kRecords});
  const auto count = variable(*m.graph, "count", {kRecords, 1}, init::zeros());
  m.inputs = {x};
  m.loss = reduce_sum(matmul(x, count));
  return m;
}

/// Two weights for each record, of which one may have a policy of its own.
Model twice_counting_model(bool) {
  auto m = Model();
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, kRecords});
  m.inputs = {x};
  const auto counted = [&](const std::string& name) {
    return reduce_sum(matmul(x, variable(*m.graph, name, {kRecords, 1}, init::zeros())));
  };
  m.loss = add(counted("count"), counted("own"));
  return m;
}

/// Somebody who kills one of the replicas now and then, whenever the coordinator thinks: so at
/// as many moments of a run as there are.
class Killer {
 public:
  Killer(Training& training, std::uint32_t seed, int one_in)
      : training_(training), random_(seed), one_in_(one_in) {
    const std::lock_guard guard(mutex());
    current() = this;
  }
  ~Killer() {
    const std::lock_guard guard(mutex());
    current() = nullptr;
  }
  static void strike() {
    const std::lock_guard guard(mutex());
    if (current()) current()->think();
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static Killer*& current() {
    static Killer* one = nullptr;
    return one;
  }
  void think() {
    if (random_() % one_in_ != 0) return;
    std::vector<std::string> replicas;
    for (const auto& name : training_.members())
      if (name.rfind("replica ", 0) == 0) replicas.push_back(name);
    if (replicas.empty()) return;
    try {
      training_.kill(replicas[random_() % replicas.size()]);
    } catch (const Error&) {
    }  // it is being replaced at this moment
  }

  Training& training_;
  std::mt19937 random_;
  std::uint32_t one_in_;
};

template <class Policy>
class Dangerous : public Policy {
 public:
  using Policy::Policy;
  std::optional<Round> round(const RoundView& view) const override {
    Killer::strike();
    return Policy::round(view);
  }
};

template <class Policy>
class Adding : public Dangerous<Policy> {
 public:
  using Dangerous<Policy>::Dangerous;
  Tensor reduce(const TensorList& gradients, const std::vector<double>&,
                IntraOp& intra) const override {
    return Policy::reduce(gradients, std::vector<double>(gradients.size(), 1.0), intra);
  }
};

template <class Policy, class... Args>
void register_made(const std::string& name, Args... args) {
  register_policy(name, [=](const OptionMap&) { return std::make_unique<Policy>(args...); });
}

void register_policies() {
  static const bool done = [] {
    register_made<Adding<SyncPolicy>>("adding_sync");
    register_made<Adding<SyncPolicy>>("adding_backups", SyncRules{0, 1});
    register_made<Adding<SyncPolicy>>("adding_quorum", SyncRules{5, 0});
    register_made<Adding<AsyncPolicy>>("adding_async");
    register_made<Adding<AsyncPolicy>>("adding_drop", parse_staleness("drop:0"));
    register_made<Adding<SspPolicy>>("adding_ssp", 1);
    register_made<Dangerous<SyncPolicy>>("dangerous_sync");
    register_made<Dangerous<LocalPolicy>>("dangerous_local", 3);
    return true;
  }();
  (void)done;
}

class Supervised : public ATrainingRun {
 protected:
  Supervised() {
    register_policies();
    std::ofstream ids(path("ids.txt"));
    for (int i = 0; i < kRecords; ++i) {
      for (int k = 0; k < kRecords; ++k) ids << (k ? " " : "") << (i == k ? 1 : 0);
      ids << '\n';
    }
  }
  Batches records(std::int64_t epochs, std::int64_t rows) const {
    return read_text({path("ids.txt")})
        .repeat(epochs)
        .decode({numbers({kRecords})}, {.decoders = 2, .block_records = 7})
        .batch(rows, Remainder::keep);
  }
  TrainingOptions counting_options(const std::string& policy, int replicas) {
    TrainingOptions o;
    o.optimizer = optim::sgd();
    o.learning_rate = 1.0;
    o.threads = {2, 1};
    o.replicas = replicas;
    o.shards = 1;
    o.aggregation.policy = policy;
    o.restarts.most = 1'000'000;
    o.restarts.delay = 0ms;
    o.restarts.longest_delay = 1ms;
    o.checkpoints.directory = path("counted-" + std::to_string(++runs));
    return o;
  }
  std::vector<double> counts(const TrainingOptions& o, const std::string& name = "count") const {
    for (auto& record : Checkpoint::open(o.checkpoints.directory).read_all())
      if (record.name == name && record.kind == TensorKind::variable) {
        std::vector<double> all;
        for (std::int64_t i = 0; i < record.value.size(); ++i) all.push_back(-record.value.at(i));
        return all;
      }
    return {};
  }
  static TrainingOutcome run_with_killer(Training& training, std::uint32_t seed, int one_in) {
    const Killer killer(training, seed, one_in);
    return training.run();
  }
};

class EveryRecord : public Supervised, public ::testing::WithParamInterface<const char*> {};

TEST_P(EveryRecord, IsTrainedOnExactlyOnceAnEpochWhoeverIsKilled) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    const auto o = counting_options(GetParam(), 3);
    Training training(counting_model, records(6, 5), o);
    const auto outcome = run_with_killer(training, seed, 12);
    ASSERT_NE(outcome.ending, Ending::failed) << outcome.message;
    EXPECT_EQ(outcome.ending, Ending::end_of_data);
    EXPECT_EQ(outcome.examples, 6 * kRecords);
    EXPECT_EQ(outcome.records_left, 0);
    EXPECT_EQ(outcome.records_lost, 0);
    EXPECT_THAT(counts(o), Each(6.0)) << "with " << outcome.restarts << " restarts";
    EXPECT_TRUE(training.stop(60s).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(WithPolicy, EveryRecord,
                         ::testing::Values("adding_sync", "adding_backups", "adding_quorum",
                                           "adding_async", "adding_drop", "adding_ssp"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(Supervised, CountsEveryRecordOnceInAllVariablesWhateverTheirPoliciesAndWhoeverIsKilled) {
  for (const auto& [policy, own] :
       {std::pair{"adding_sync", "adding_async"}, std::pair{"adding_async", "adding_sync"},
        std::pair{"adding_ssp", "adding_sync"}, std::pair{"adding_sync", "adding_ssp"}})
    for (std::uint32_t seed = 1; seed <= 2; ++seed) {
      auto o = counting_options(policy, 3);
      o.aggregation.groups = {{"own", own}};
      o.checkpoints.every = 4;
      Training training(twice_counting_model, records(6, 5), o);
      const auto outcome = run_with_killer(training, seed, 20);
      ASSERT_NE(outcome.ending, Ending::failed) << outcome.message;
      EXPECT_EQ(outcome.ending, Ending::end_of_data);
      EXPECT_EQ(outcome.examples, 6 * kRecords);
      EXPECT_EQ(outcome.records_left, 0);
      for (const auto* name : {"count", "own"})
        EXPECT_THAT(counts(o, name), Each(6.0)) << name << " of " << policy << " and " << own
                                                << " with " << outcome.restarts << " restarts";
      EXPECT_TRUE(training.stop(60s).empty());
    }
}

TEST_F(Supervised, AccumulatesAndMakesLocalStepsWithEveryRecordOnceWhoeverIsKilled) {
  for (const bool local : {false, true}) {
    auto o = counting_options(local ? "dangerous_local" : "adding_async", 2);
    if (!local) o.aggregation.accumulate = 3;
    Training training(counting_model, records(6, 4), o);
    const auto outcome = run_with_killer(training, 7, 12);
    ASSERT_NE(outcome.ending, Ending::failed) << outcome.message;
    EXPECT_EQ(outcome.examples, 6 * kRecords);
    EXPECT_EQ(outcome.records_left, 0);
    for (const auto count : counts(o)) EXPECT_GT(count, 0);
    EXPECT_TRUE(training.stop(60s).empty());
  }
}

/// Of the last checkpoint of a run with these options.
void expect_bits_of(const std::map<std::string, Tensor>& undisturbed, const TrainingOptions& o,
                    const std::string& which) {
  for (auto& record : Checkpoint::open(o.checkpoints.directory).read_all())
    if (record.kind == TensorKind::variable) {
      EXPECT_TRUE(same_bits(record.value, undisturbed.at(record.name)))
          << record.name << " with " << which;
    }
}

TEST_F(Supervised, EndsWithTheSameBitsWhoeverIsKilledWhenDeterministic) {
  for (const std::string policy : {"dangerous_sync", "dangerous_local"}) {
    auto o = options();
    o.replicas = 3;
    o.shards = 2;
    o.aggregation.policy = policy;
    const auto undisturbed = train(o);
    const auto steps = outcome.steps;
    o.restarts.most = 1'000'000;
    o.restarts.delay = 0ms;
    o.restarts.longest_delay = 1ms;
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      o.checkpoints.directory = path("killed-" + std::to_string(++runs));
      Training training(small_model, batches(3), o);
      const auto outcome = run_with_killer(training, seed, 8);
      ASSERT_NE(outcome.ending, Ending::failed) << outcome.message;
      EXPECT_EQ(outcome.steps, steps);
      EXPECT_EQ(outcome.examples, 720);
      EXPECT_GT(outcome.restarts, 0u);
      expect_bits_of(undisturbed, o, text(policy, ", ", outcome.restarts, " restarts"));
      EXPECT_TRUE(training.stop(60s).empty());
    }
  }
}

TEST_F(Supervised, GivesASuccessorWhatTheOneBeforeItKeptForItself) {
  struct Way {
    const char* compression;
    DType precision;
  };
  for (const auto& [compression, precision] :
       {Way{"topk:0.1", DType::float32}, Way{"none", DType::float16},
        Way{"topk:0.1", DType::float16}}) {
    auto o = options();
    o.replicas = 3;
    o.shards = 2;
    o.max_shard_bytes = 64;
    o.aggregation.policy = "dangerous_sync";
    o.aggregation.compression = compression;
    o.precision = precision;
    if (precision == DType::float16) o.loss_scale = {.initial = 0x1p24, .growth_interval = 4};
    const auto undisturbed = train(o);
    o.restarts.most = 1'000'000;
    o.restarts.delay = 0ms;
    o.restarts.longest_delay = 1ms;
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      o.checkpoints.directory = path("killed-" + std::to_string(++runs));
      Training training(small_model, batches(3), o);
      const auto outcome = run_with_killer(training, seed, 8);
      ASSERT_NE(outcome.ending, Ending::failed) << outcome.message;
      EXPECT_GT(outcome.restarts, 0u);
      expect_bits_of(undisturbed, o,
                     text(compression, ", ", precision, ", ", outcome.restarts, " restarts"));
      EXPECT_TRUE(training.stop(60s).empty());
    }
  }
}

// ---- what is told ----------------------------------------------------------------------------

/// Waits until somebody has said something with these words; ten minutes at most.
class Listener {
 public:
  EventListener listen() {
    return [this](const std::string& words) {
      const std::lock_guard guard(mutex_);
      heard_.push_back(words);
      changed_.notify_all();
    };
  }
  bool hears(const std::string& part) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10min, [&] { return has(part); });
  }
  bool has_heard(const std::string& part) {
    const std::lock_guard guard(mutex_);
    return has(part);
  }

 private:
  bool has(const std::string& part) const {
    return std::any_of(heard_.begin(), heard_.end(),
                       [&](const auto& words) { return words.find(part) != std::string::npos; });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
};

/// A run that goes on until it is told to stop, in a thread of its own.
class AGoingRun : public Supervised {
 protected:
  void start(TrainingOptions o) {
    o.events = listener.listen();
    o.progress = [this](const Progress& p) {
      if (p.step > 0) moving.listen()("moves");
    };
    o.progress_interval = 100ms;  // a status that takes longer is asked for again
    training = std::make_unique<Training>(counting_model, records(0, 4), o);
    thread = std::thread([this] { outcome = training->run(); });
    ASSERT_TRUE(moving.hears("moves"));
  }
  void finish() {
    training->request_stop();
    thread.join();
  }
  ~AGoingRun() override {
    if (thread.joinable()) finish();
  }
  TrainingOutcome outcome;
  std::unique_ptr<Training> training;
  Listener listener, moving;
  std::thread thread;
};

TEST_F(AGoingRun, TellsWhoWasLostWhyAndWhatItCost) {
  auto o = counting_options("adding_sync", 2);
  o.restarts.most = 3;
  start(o);
  training->kill("replica 1");
  EXPECT_TRUE(listener.hears("replica 1 was lost: it was killed"));
  EXPECT_TRUE(listener.hears(", 2 of 3 restarts are left"));
  EXPECT_TRUE(listener.hears("replica 1 is started again after "));
  finish();
  EXPECT_EQ(outcome.ending, Ending::stopped) << outcome.message;
  EXPECT_EQ(outcome.restarts, 1u);
}

TEST_F(AGoingRun, EndsWithAllReasonsWhenTheBudgetIsUsedUp) {
  auto o = counting_options("adding_async", 2);
  o.restarts.most = 1;
  start(o);
  training->kill("replica 0");
  ASSERT_TRUE(listener.hears("replica 0 is started again"));
  training->kill("replica 1");
  thread.join();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr("replica 0 was lost: it was killed"));
  EXPECT_THAT(outcome.message, HasSubstr("replica 1 was lost: it was killed"));
  EXPECT_FALSE(outcome.checkpoint.empty());
}

TEST_F(AGoingRun, EndsWithTheFirstLossWithoutRestarts) {
  auto o = counting_options("adding_sync", 2);
  o.restarts.most = 0;
  start(o);
  training->kill("replica 1");
  thread.join();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr("replica 1 was lost: it was killed"));
}

class TheOnly : public AGoingRun, public ::testing::WithParamInterface<const char*> {};

TEST_P(TheOnly, ActorOfItsKindEndsTheRunWhenItIsLost) {
  start(counting_options("adding_sync", 2));
  training->kill(GetParam());
  thread.join();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr(GetParam()));
  EXPECT_TRUE(training->stop(60s).empty());
}

INSTANTIATE_TEST_SUITE_P(InARun, TheOnly,
                         ::testing::Values("conductor", "coordinator", "feeder", "device CPU:0",
                                           "shard 0"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                               '_');
                           return name;
                         });

TEST_F(AGoingRun, EndsNamingTheKeeperOfItsAllReduceWhenThatIsLost) {
  auto o = counting_options("sync", 3);
  o.aggregation.all_reduce = "ring";
  start(o);
  training->kill("group keeper");
  thread.join();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr("group keeper ended: it was killed"));
  EXPECT_TRUE(training->stop(60s).empty());
}

TEST_F(AGoingRun, EndsNamingTheKeeperOfItsShardsWhenThatIsLostAfterAShard) {
  auto o = counting_options("adding_sync", 2);
  o.backup_shards = 1;
  start(o);
  training->kill("shard 0");
  ASSERT_TRUE(listener.hears("its copy has taken its place"));
  training->kill("shard keeper");
  thread.join();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr("shard keeper ended: it was killed"));
  EXPECT_TRUE(training->stop(60s).empty());
}

TEST_F(AGoingRun, TellsWhenAShardOfItsAllReduceDied) {
  auto o = counting_options("sync", 2);
  o.aggregation.all_reduce = "ring";
  start(o);
  training->kill("shard 1");
  EXPECT_TRUE(listener.hears("shard 1 died (it was killed): another one gets"));
  EXPECT_FALSE(listener.has_heard("step 0: shard 1 died"));
  finish();
  EXPECT_EQ(outcome.ending, Ending::stopped) << outcome.message;
}

TEST_F(AGoingRun, PromisesNobodyInThePlaceOfTheLastShardOfAnAllReduce) {
  auto o = counting_options("sync", 1);
  o.aggregation.all_reduce = "ring";
  start(o);
  training->kill("shard 0");
  EXPECT_TRUE(listener.hears("shard 0 died (it was killed): nobody is left who has the same"));
  thread.join();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr("all shards of the all-reduce have died"));
}

TEST_F(AGoingRun, GoesOnWithoutItsObserver) {
  start(counting_options("adding_sync", 2));
  training->kill("observer");
  finish();
  EXPECT_EQ(outcome.ending, Ending::stopped) << outcome.message;
  EXPECT_TRUE(listener.hears("nothing to explain about this run: observer: it has ended"));
  EXPECT_THAT(test::message_of([&] { training->explain(); }), HasSubstr("its observer is lost"));
  EXPECT_TRUE(training->stop(60s).empty());
}

TEST_F(AGoingRun, SaysWhoThereIsWhenNobodyIsCalledSo) {
  start(counting_options("adding_sync", 2));
  EXPECT_THAT(test::message_of([&] { training->kill("replica 7"); }),
              HasSubstr("no actor is called 'replica 7'; there are: "));
  EXPECT_THAT(training->members(), Contains("replica 1"));
  EXPECT_THAT(training->members(), Contains("coordinator"));
}

TEST_F(AGoingRun, StopsWhileAReplicaIsAway) {
  auto o = counting_options("adding_sync", 2);
  o.restarts.delay = 1h;
  o.restarts.longest_delay = 1h;
  start(o);
  training->kill("replica 1");
  ASSERT_TRUE(listener.hears("replica 1 was lost"));
  finish();
  EXPECT_EQ(outcome.ending, Ending::stopped) << outcome.message;
}

// ---- replicas that come and go ---------------------------------------------------------------

TEST_F(AGoingRun, TakesReplicasInAndLetsThemGo) {
  start(counting_options("adding_sync", 1));
  EXPECT_EQ(training->add_replica(), "replica 1");
  EXPECT_THAT(training->set_replicas(3), ::testing::ElementsAre("replica 2"));
  EXPECT_EQ(training->replicas(), 3);
  EXPECT_THAT(training->members(), Contains("replica 2"));
  EXPECT_EQ(training->remove_replica("replica 0"), "replica 0");
  EXPECT_EQ(training->replicas(), 2);
  EXPECT_TRUE(listener.hears("replica 0 has left"));
  EXPECT_THAT(training->members(), Not(Contains("replica 0")));
  EXPECT_EQ(training->remove_replica(), "replica 2");
  EXPECT_TRUE(listener.hears("replica 2 has left"));
  EXPECT_THAT(test::message_of([&] { training->remove_replica(); }),
              HasSubstr("replica 1 is the only replica that stays"));
  EXPECT_THAT(test::message_of([&] { training->remove_replica("replica 0"); }),
              HasSubstr("no 'replica 0' takes part"));
  finish();
  EXPECT_EQ(outcome.ending, Ending::stopped) << outcome.message;
  EXPECT_EQ(outcome.aggregation.replicas.size(), 3u);
}

TEST_F(AGoingRun, HasAShardForEachReplicaOfAnAllReduceThatComes) {
  auto o = counting_options("sync", 1);
  o.aggregation.all_reduce = "ring";
  start(o);
  EXPECT_THAT(training->set_replicas(3), ::testing::ElementsAre("replica 1", "replica 2"));
  const auto shards = [&] {
    std::string names;
    for (const auto& node : training->explain().topology.nodes)
      if (node.role == Role::shard) names += node.name + ' ';
    return names;
  };
  EXPECT_EQ(shards(), "shard 0 shard 1 shard 2 ");
  EXPECT_EQ(training->remove_replica("replica 0"), "replica 0");
  EXPECT_TRUE(listener.hears("replica 0 has left"));
  EXPECT_EQ(training->remove_replica("replica 1"), "replica 1");
  EXPECT_TRUE(listener.hears("replica 1 has left"));
  EXPECT_EQ(training->add_replica(), "replica 3");
  const auto members = training->members();
  for (const std::string kind : {"replica ", "shard ", "reducer "}) {
    EXPECT_THAT(members, Contains(kind + "2"));
    EXPECT_THAT(members, Contains(kind + "3"));
    EXPECT_THAT(members, Not(Contains(kind + "1")));
  }
  finish();
  EXPECT_EQ(outcome.ending, Ending::stopped) << outcome.message;
  // The last one may have been told to stop before it had joined.
  EXPECT_GE(outcome.aggregation.replicas.size(), 3u);
}

TEST_F(AGoingRun, KeepsItsReplicasAndItsPolicyWhenItIsRecorded) {
  auto o = counting_options("async", 2);
  o.aggregation.record = path("recorded");
  start(o);
  EXPECT_THAT(test::message_of([&] { training->add_replica(); }),
              HasSubstr("of a run that is recorded or replayed cannot come and go"));
  EXPECT_THAT(test::message_of([&] { training->change_policy("ssp:1"); }),
              HasSubstr("recorded or replayed keeps its policy"));
  finish();
  EXPECT_EQ(outcome.ending, Ending::stopped) << outcome.message;
}

class ComingAndGoing : public EveryRecord {
 protected:
  /// Replicas come and go, and others are killed.
  static TrainingOutcome run_with_changes(Training& training) {
    std::atomic<bool> done{false};
    std::thread changes([&] {
      std::mt19937 random(3);
      for (int made = 0; made < 60 && !done.load();) try {
          training.set_replicas(static_cast<int>(1 + random() % 4));
          ++made;
        } catch (const Error&) {
          std::this_thread::yield();  // the run has not begun, or is over
        }
    });
    const auto outcome = run_with_killer(training, 5, 40);
    done.store(true);
    changes.join();
    EXPECT_NE(outcome.ending, Ending::failed) << outcome.message;
    EXPECT_EQ(outcome.examples, kEpochs * kRecords);
    EXPECT_EQ(outcome.records_left, 0);
    EXPECT_TRUE(training.stop(60s).empty());
    return outcome;
  }

  static constexpr int kEpochs = 30;
};

TEST_P(ComingAndGoing, LosesNoRecordAndCountsNoneTwice) {
  const auto o = counting_options(GetParam(), 2);
  Training training(counting_model, records(kEpochs, 5), o);
  run_with_changes(training);
  EXPECT_THAT(counts(o), Each(static_cast<double>(kEpochs)));
}

INSTANTIATE_TEST_SUITE_P(WithPolicy, ComingAndGoing,
                         ::testing::Values("adding_sync", "adding_backups", "adding_async",
                                           "adding_ssp"),
                         [](const auto& info) { return std::string(info.param); });

class ComingToAnAllReduceAndGoing : public ComingAndGoing {};

TEST_P(ComingToAnAllReduceAndGoing, LosesNoRecord) {
  auto o = counting_options("sync", 2);
  o.aggregation.all_reduce = GetParam();
  Training training(counting_model, records(kEpochs, 5), o);
  const auto outcome = run_with_changes(training);
  EXPECT_GT(outcome.aggregation.replicas.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ComingToAnAllReduceAndGoing, ::testing::Values("ring", "tree"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(ATrainingRun, RefusesReplicasThatComeAndGoWhereTheyCannot) {
  Training training(small_model, batches(1), options());
  EXPECT_THAT(test::message_of([&] { training.add_replica(); }),
              HasSubstr("only while a run goes on"));
  EXPECT_THAT(test::message_of([&] { training.set_replicas(0); }), HasSubstr("at least 1"));
  training.run();
  EXPECT_THAT(test::message_of([&] { training.add_replica(); }),
              HasSubstr("only while a run goes on"));
}

}  // namespace
}  // namespace troupe
