// Whole training runs under each policy.
#include <gmock/gmock.h>

#include <memory>
#include <utility>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/aggregation/aggregation_summary.h"

namespace troupe {
namespace {

using test::expect_near;
using test::small_model;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;

class Policies : public test::ATrainingRun {
 protected:
  static TrainingOptions with(const std::string& policy, int replicas) {
    auto o = options();
    o.aggregation.policy = policy;
    o.replicas = replicas;
    o.shards = 2;
    o.deterministic = false;
    return o;
  }
  static TrainingOptions ordered(const std::string& policy, int replicas) {
    auto o = with(policy, replicas);
    o.deterministic = true;
    return o;
  }
};

// ---- policies that come to the same ----------------------------------------------------------

TEST_F(Policies, SspWithABoundOfZeroIsSync) {
  const auto sync = train(ordered("sync", 3));
  expect_near(sync, train(ordered("ssp:0", 3)));
}

TEST_F(Policies, LocalStepsOfOneAreSyncWhereTheOptimizerIsLinear) {
  const auto sync = train(ordered("sync", 2));
  expect_near(sync, train(ordered("local:1", 2)));
}

TEST_F(Policies, LocalStepsOfOneReplicaAreStepsOfTheShards) {
  auto o = ordered("local:4", 1);
  o.optimizer = optim::adam();
  const auto local = train(o);
  EXPECT_EQ(outcome.steps, 30u);
  o.aggregation.policy = "sync";
  expect_near(train(o), local);
}

TEST_F(Policies, AccumulatingBatchesIsTrainingOnLargerOnes) {
  auto o = ordered("sync", 2);
  o.aggregation.accumulate = 2;
  const auto small = train(o, 3);
  EXPECT_EQ(outcome.steps, 15u);
  EXPECT_EQ(outcome.examples, 720);
  o.aggregation.accumulate = 1;
  rows = 48;
  expect_near(train(o, 3), small);
}

TEST_F(Policies, ClippingDoesNotDependOnReplicasAndShards) {
  auto o = ordered("sync", 1);
  o.aggregation.clip_norm = 0.05;
  o.shards = 1;
  const auto one = train(o);
  EXPECT_THAT(outcome.aggregation.clipped, Ge(1u));
  o.replicas = 3;
  o.shards = 4;
  expect_near(one, train(o));
}

TEST_F(Policies, BackupsOfWhomNobodyIsLateAreSync) {
  // One replica: whatever the policy allows, all of its sets are in time.
  const auto sync = train(ordered("sync", 1));
  expect_near(sync, train(ordered("sync:quorum=1", 1)));
}

// ---- every policy learns, ends and loses nothing ---------------------------------------------

class EveryPolicy : public Policies, public ::testing::WithParamInterface<const char*> {};

TEST_P(EveryPolicy, LearnsAndTrainsOnEveryExampleOnce) {
  auto o = with(GetParam(), 3);
  o.learning_rate = 0.02;
  o.evaluation.data = batches(1, 240);
  train(o, 20);
  EXPECT_EQ(outcome.ending, Ending::end_of_data);
  EXPECT_EQ(outcome.examples, 4800);
  EXPECT_LT(outcome.evaluation.at(0), 0.1);
}

TEST_P(EveryPolicy, MakesAsManyStepsAsItIsToldAndNoMore) {
  for (const std::uint64_t steps : {1u, 7u, 20u}) {
    auto o = with(GetParam(), 3);
    o.max_steps = steps;
    train(o, 0);
    EXPECT_EQ(outcome.ending, Ending::steps_done);
    EXPECT_EQ(outcome.steps, steps);
  }
}

TEST_P(EveryPolicy, CanBeTakenUpAndGivenUpWhileARunGoesOn) {
  for (const std::string other : {"sync", "async", "ssp:1", "local:3"}) {
    auto o = with(GetParam(), 3);
    o.max_steps = 300;
    o.checkpoints.directory = path(text("changed-", ++runs));
    int changes = 0;
    bool asked = false;
    std::unique_ptr<Training> training;
    // It is told of every change, and asks for the next.
    o.events = [&](const std::string& words) {
      if (words.find("the policy is '") == std::string::npos) return;
      if (++changes < 9) training->change_policy(changes % 2 == 0 ? other : GetParam());
    };
    o.progress_interval = std::chrono::milliseconds(1);
    o.progress = [&](const Progress& p) {
      if (p.step > 0 && !std::exchange(asked, true)) training->change_policy(other);
    };
    training = std::make_unique<Training>(small_model, batches(0), o);
    outcome = training->run();
    EXPECT_EQ(outcome.ending, Ending::steps_done) << outcome.message;
    EXPECT_EQ(outcome.steps, 300u);
    EXPECT_GE(changes, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, EveryPolicy,
                         ::testing::Values("sync", "sync:backups=1", "sync:quorum=2,backups=1",
                                           "sync:quorum=5", "async", "async:staleness=drop:1",
                                           "async:staleness=weight", "ssp:1",
                                           "ssp:3,staleness=weight", "local:1", "local:4"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (auto& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

// ---- options ---------------------------------------------------------------------------------

TEST_F(Policies, AreRefusedAtOnceWhenARunCannotHaveThem) {
  const auto words = [&](const TrainingOptions& o) {
    return test::message_of([&] { Training(small_model, batches(1), o); });
  };
  EXPECT_THAT(words(ordered("async", 2)), HasSubstr("cannot be deterministic with 2 replicas"));
  EXPECT_THAT(words(with("sink", 2)), HasSubstr("no policy is called 'sink'"));
  auto o = with("local:2", 2);
  o.aggregation.accumulate = 2;
  EXPECT_THAT(words(o), HasSubstr("cannot be accumulated"));
  o = with("sync", 2);
  o.aggregation.clip_norm = -1;
  EXPECT_THAT(words(o), HasSubstr("clip_norm must be at least 0"));
}

TEST_F(Policies, AreSummedUpAtTheEnd) {
  train(with("async", 2), 5);
  const auto words = aggregation_summary(outcome.aggregation);
  EXPECT_THAT(words, AllOf(HasSubstr("policy:     async, 50 updates\n"), HasSubstr("  replica 0: "),
                           HasSubstr("staleness 0: ")));
  std::uint64_t applied = 0;
  for (const auto& r : outcome.aggregation.replicas)
    for (const auto count : r.staleness.counts) applied += count;
  EXPECT_EQ(applied, 50u);
}

TEST(AnAggregationSummary, CountsTheSetsOfAReplicaAndNotItsClock) {
  AggregationStatus status;
  status.policy = "sync";
  status.updates = 233;
  status.replicas.resize(2);
  status.replicas[0].clock = 233;
  status.replicas[0].staleness.counts = {233};
  status.replicas[1].replica = 3;  // joined at 174
  status.replicas[1].clock = 233;
  status.replicas[1].staleness.counts = {58, 1};
  EXPECT_EQ(aggregation_summary(status),
            "policy:     sync, 233 updates\n"
            "  replica 0: 233 sets applied; staleness 0: 233\n"
            "  replica 3: 59 sets applied; staleness 0: 58, 1: 1\n");
}

}  // namespace
}  // namespace troupe
