#include <gmock/gmock.h>

#include <fstream>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/aggregation/aggregation_summary.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/parameters/group_placement.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/reductions.h"

namespace troupe {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- which variables -------------------------------------------------------------------------

TEST(PolicyGroups, AreNamesOrPatternsOfNames) {
  const std::vector<std::string> names{"embedding/a", "embedding/b", "out/bias", "out/weights"};
  EXPECT_THAT(groups_of(names, {}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(groups_of(names, {{"embedding/*", "async"}}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(groups_of(names, {{"out/bias", "async"}, {"*/a, embedding/b", "ssp:1"}}),
              ElementsAre(2, 2, 1, 0));
  EXPECT_THAT(groups_of(names, {{"*t*i*s", "async"}}), ElementsAre(0, 0, 1, 1));
}

TEST(PolicyGroups, SayWhichVariableHasNoneOrTwo) {
  const std::vector<std::string> names{"embedding", "bias"};
  const auto problem = [&](std::vector<PolicyGroup> groups) {
    return test::message_of([&] { groups_of(names, groups); });
  };
  EXPECT_THAT(problem({{"embeding", "async"}}),
              HasSubstr("policy 'async' is for 'embeding', but no variable is called so; there "
                        "are: embedding, bias"));
  EXPECT_THAT(problem({{"embedding", "async"}, {"emb*", "ssp:1"}}),
              HasSubstr("variable 'embedding' has two policies, by 'embedding' and by 'emb*'"));
  EXPECT_THAT(problem({{"*", "async"}}), HasSubstr("every variable has a policy of its own"));
  EXPECT_THAT(problem({{" , ", "async"}}), HasSubstr("does not say which"));
}

TEST(PolicyGroups, AreWrittenAsNamesAndAPolicy) {
  const auto group = parse_policy_group("embedding/*,bias=async:staleness=weight");
  EXPECT_EQ(group.variables, "embedding/*,bias");
  EXPECT_EQ(group.policy, "async:staleness=weight");
  for (const std::string bad : {"embedding", "=async", "embedding=", " =async"})
    EXPECT_THAT(test::message_of([&] { parse_policy_group(bad); }), HasSubstr("NAMES=POLICY"))
        << bad;
}

TEST(PolicyGroups, HaveShardsOfTheirOwn) {
  Graph graph;
  std::vector<Variable> variables;
  for (const auto& [name, rows] :
       {std::pair{"a", 4}, std::pair{"b", 100}, std::pair{"c", 2}, std::pair{"d", 50}}) {
    variable(graph, name, {rows, 10}, init::zeros());
  }
  variables = graph.variables();
  const std::vector<std::uint32_t> groups{0, 1, 0, 1};
  const auto shard_of = [&](std::uint32_t shards) {
    std::vector<std::uint32_t> of;
    for (const auto& rows :
         place_groups(variables, groups, shards, VariablePlacement::by_bytes, 0).rows) {
      of.resize(std::max(of.size(), rows.variable + 1));
      of[rows.variable] = rows.shard;
    }
    return of;
  };
  EXPECT_THAT(shard_of(1), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(shard_of(2), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(shard_of(3), ElementsAre(0, 1, 0, 2));  // the large ones get the third
  const auto placed = place_groups(variables, groups, 3, VariablePlacement::by_bytes, 0);
  EXPECT_THAT(placed.group_of_shard, ElementsAre(0, 1, 1));
}

// ---- training --------------------------------------------------------------------------------

/// Half of the squared distances of the numbers x from `slow` and from `fast`.
Model two_means(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 1});
  const auto slow = variable(*m.graph, "slow", {1}, init::zeros());
  const auto fast = variable(*m.graph, "fast", {1}, init::zeros());
  const auto a = sub(x, slow);
  const auto b = sub(x, fast);
  m.inputs = {x};
  m.loss = reduce_mean(add(mul(a, a), mul(b, b)));
  return m;
}

class AGroupedRun : public test::ATrainingRun {
 protected:
  static constexpr int kRecords = 48;
  static constexpr int kRows = 8;

  static double record(int i) { return std::sin(i * 0.7) + 0.01 * i; }

  AGroupedRun() {
    std::ofstream out(path("numbers.txt"));
    for (int i = 0; i < kRecords; ++i) out << record(i) << '\n';
  }
  /// In the order of the file.
  Batches numbers_in_order(std::int64_t epochs = 1) const {
    return read_text({path("numbers.txt")})
        .repeat(epochs)
        .decode({numbers({1})}, {.decoders = 1, .block_records = 5})
        .batch(kRows, Remainder::drop)
        .in_order();
  }
  static TrainingOptions grouped(const std::string& policy, const std::string& of_fast) {
    TrainingOptions o;
    o.optimizer = optim::sgd();
    o.learning_rate = 0.05;
    o.threads = {2, 1};
    o.replicas = 2;
    o.aggregation.policy = policy;
    o.aggregation.groups = {{"fast", of_fast}};
    return o;
  }
  std::map<std::string, double> trained(TrainingOptions o, const Batches& data) {
    o.checkpoints.directory = path("run-" + std::to_string(++runs));
    Training training(two_means, data, o);
    description = training.describe();
    outcome = training.run();
    EXPECT_NE(outcome.ending, Ending::failed) << outcome.message;
    EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
    std::map<std::string, double> values;
    for (auto& saved : Checkpoint::open(o.checkpoints.directory).read_all())
      values[saved.name] = saved.value.at(0);
    return values;
  }
  std::string description;
};

TEST_F(AGroupedRun, IsWhatTheFormulasOfBothPoliciesSay) {
  const auto values = trained(grouped("sync", "async"), numbers_in_order(2));
  // Each batch is split over the two replicas. `slow` moves by the mean of their gradients,
  // `fast` by each of them, both computed from the same values.
  double slow = 0, fast = 0;
  const auto steps = 2 * kRecords / kRows;
  for (int step = 0; step < steps; ++step) {
    double means[2] = {0, 0};
    for (int i = 0; i < kRows; ++i)
      means[2 * i / kRows] += record((step * kRows + i) % kRecords) / (kRows / 2);
    slow += 0.05 * 2 * ((means[0] + means[1]) / 2 - slow);
    fast += 0.05 * 2 * (means[0] + means[1] - 2 * fast);
  }
  EXPECT_NEAR(values.at("slow"), slow, 1e-5);
  EXPECT_NEAR(values.at("fast"), fast, 1e-5);
  EXPECT_GT(std::abs(slow - fast), 0.05);
  EXPECT_EQ(outcome.steps, static_cast<std::uint64_t>(steps));
  EXPECT_EQ(outcome.examples, 2 * kRecords);
  ASSERT_EQ(outcome.aggregation.groups.size(), 1u);
  EXPECT_EQ(outcome.aggregation.groups[0].version, static_cast<std::uint64_t>(2 * steps));
  EXPECT_THAT(aggregation_summary(outcome.aggregation),
              HasSubstr("policy of fast: async, 24 updates"));
  EXPECT_THAT(description, HasSubstr("fast: async, in 1 shard of their own"));
}

TEST_F(AGroupedRun, IsTheSameWithOneReplicaWhateverThePolicies) {
  auto o = grouped("sync", "async");
  o.replicas = 1;
  const auto values = trained(o, numbers_in_order(2));
  o.aggregation.groups.clear();
  EXPECT_EQ(values, trained(o, numbers_in_order(2)));
}

TEST_F(AGroupedRun, EndsAtTheLastStepOfTheRun) {
  for (const auto& [policy, of_fast] : {std::pair{"sync", "async"}, std::pair{"async", "sync"},
                                        std::pair{"ssp:1", "sync"}, std::pair{"async", "ssp:2"}}) {
    auto o = grouped(policy, of_fast);
    o.replicas = 3;
    o.max_steps = 7;
    trained(o, numbers_in_order(20));
    EXPECT_EQ(outcome.ending, Ending::steps_done);
    EXPECT_EQ(outcome.steps, 7u) << policy << ' ' << of_fast;
  }
}

TEST_F(AGroupedRun, EvaluatesAndKeepsUnderTheStepsOfTheRun) {
  auto o = grouped("sync", "async");
  o.shards = 4;
  o.evaluation.data = numbers_in_order();
  o.evaluation.every = 3;
  o.checkpoints.every = 2;
  o.checkpoints.keep = 0;
  o.checkpoints.directory = path("kept");
  Training training(two_means, numbers_in_order(2), o);
  outcome = training.run();
  ASSERT_NE(outcome.ending, Ending::failed) << outcome.message;
  EXPECT_THAT(CheckpointDirectory(path("kept")).list(), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_EQ(outcome.evaluation.size(), 1u);
  const auto state = Checkpoint::open(path("kept/ckpt-4")).manifest().state;
  EXPECT_EQ(state.at("updates of fast"), "8");
}

TEST_F(AGroupedRun, GoesOnWithTheUpdatesOfEachGroup) {
  auto o = grouped("sync", "async");
  o.learning_rate = parse_schedule("exponential(0.05, 10, 0.9)");
  o.checkpoints.every = 3;
  o.checkpoints.keep = 0;
  const auto data = numbers_in_order(3);
  const auto whole = trained(o, data);
  const auto from = path("run-1");
  for (const auto step : {3, 6, 15}) {
    o.checkpoints.resume_from = from + "/ckpt-" + std::to_string(step);
    // The two updates of `fast` in each step come in any order, with rates that differ a little.
    const auto again = trained(o, data);
    EXPECT_NEAR(again.at("slow"), whole.at("slow"), 1e-6) << step;
    EXPECT_NEAR(again.at("fast"), whole.at("fast"), 1e-2) << step;
    EXPECT_EQ(outcome.aggregation.groups.at(0).version, 36u);
  }
}

TEST_F(AGroupedRun, GoesOnFromOneWithoutGroupsAndTheOtherWayRound) {
  auto o = grouped("sync", "async");
  o.max_steps = 4;
  auto plain = o;
  plain.aggregation.groups.clear();
  trained(plain, numbers_in_order(3));  // run-1
  trained(o, numbers_in_order(3));      // run-2
  for (const bool grouped : {true, false}) {
    auto again = grouped ? o : plain;
    again.max_steps = 8;
    again.checkpoints.resume_from = path(grouped ? "run-1" : "run-2");
    trained(again, numbers_in_order(3));
    EXPECT_EQ(outcome.steps, 8u);
    if (grouped) {
      EXPECT_EQ(outcome.aggregation.groups.at(0).version, 12u);
    }
  }
}

TEST_F(AGroupedRun, GoesAsItWasRecorded) {
  for (const auto& [policy, of_fast] : {std::pair{"async", "sync"}, std::pair{"sync", "async"}}) {
    auto o = grouped(policy, of_fast);
    o.optimizer = optim::adam();
    o.replicas = 3;
    o.aggregation.record = path(std::string("recorded-") + policy);
    const auto first = trained(o, numbers_in_order(4));
    o.aggregation.replay = std::exchange(o.aggregation.record, "");
    EXPECT_EQ(first, trained(o, numbers_in_order(4))) << policy;
  }
}

TEST_F(AGroupedRun, ChangesPoliciesOnTheWay) {
  auto o = grouped("sync", "async");
  std::unique_ptr<Training> training;
  bool changed = false;
  std::vector<std::string> heard;
  o.events = [&](const std::string& words) { heard.push_back(words); };
  o.progress_interval = std::chrono::milliseconds(1);
  o.progress = [&](const Progress&) {
    if (std::exchange(changed, true)) return;
    training->change_policy("async");
    training->change_policy("ssp:2", "fast");
  };
  training = std::make_unique<Training>(two_means, numbers_in_order(400), o);
  EXPECT_THAT(test::message_of([&] { training->change_policy("sync:backups=1"); }),
              HasSubstr("may leave out a set that others take"));
  EXPECT_THAT(test::message_of([&] { training->change_policy("async:staleness=drop:1", "fast"); }),
              HasSubstr("may leave out a set that others take"));
  EXPECT_THAT(test::message_of([&] { training->change_policy("async", "slow"); }),
              HasSubstr("by 'slow'; there are: fast"));
  outcome = training->run();
  EXPECT_EQ(outcome.ending, Ending::end_of_data) << outcome.message;
  EXPECT_EQ(outcome.examples, 400 * kRecords);
  EXPECT_THAT(heard, Contains(HasSubstr("the policy is 'async' from here on")));
  EXPECT_THAT(heard, Contains(HasSubstr("the policy of fast is 'ssp:2' from here on")));
}

TEST_F(AGroupedRun, GoesOnWhenShardsDie) {
  auto o = grouped("sync", "async");
  o.backup_shards = 1;
  const auto undisturbed = trained(o, numbers_in_order(40));
  std::unique_ptr<Training> training;
  int reports = 0;
  o.progress_interval = std::chrono::milliseconds(1);
  o.progress = [&](const Progress& p) {
    if (!p.last && ++reports % 4 == 1) training->kill(text("shard ", reports / 4 % 2));
  };
  o.checkpoints.directory = path("killed");
  training = std::make_unique<Training>(two_means, numbers_in_order(40), o);
  outcome = training->run();
  ASSERT_NE(outcome.ending, Ending::failed) << outcome.message;
  EXPECT_EQ(outcome.examples, 40 * kRecords);
  const auto killed = Checkpoint::open(path("killed"));
  EXPECT_NEAR(killed.read("slow").at(0), undisturbed.at("slow"), 1e-5);
  EXPECT_NEAR(killed.read("fast").at(0), undisturbed.at("fast"), 1e-5);
}

// ---- what cannot be had ----------------------------------------------------------------------

TEST_F(AGroupedRun, RefusesWhatGroupsCannotAgreeAbout) {
  const auto problem = [&](TrainingOptions o) {
    return test::message_of([&] { Training(two_means, numbers_in_order(), o); });
  };
  for (const std::string policy : {"sync:backups=1", "sync:quorum=1", "async:staleness=drop:2"}) {
    EXPECT_THAT(problem(grouped("sync", policy)),
                HasSubstr("policy '" + policy + "' may leave out a set that others take"));
    EXPECT_THAT(problem(grouped(policy, "sync")), HasSubstr("may leave out a set"));
  }
  EXPECT_THAT(problem(grouped("local:2", "async")), HasSubstr("pushes weights of all variables"));
  EXPECT_THAT(problem(grouped("sync", "local:2")), HasSubstr("pushes weights of all variables"));
  EXPECT_THAT(problem(grouped("sync", "asink")), HasSubstr("no policy is called 'asink'"));
  auto o = grouped("sync", "async");
  o.aggregation.clip_norm = 1;
  EXPECT_THAT(problem(o), HasSubstr("leave aggregation.clip_norm out"));
  o = grouped("sync", "async");
  o.aggregation.leave_out_late = true;
  EXPECT_THAT(problem(o), HasSubstr("leave aggregation.leave_out_late out"));
  o = grouped("sync", "sync");
  o.aggregation.all_reduce = "ring";
  EXPECT_THAT(problem(o), HasSubstr("none can have a policy of its own"));
  o = grouped("sync", "async");
  o.deterministic = true;
  EXPECT_THAT(problem(o), HasSubstr("policy 'async' depends on timing"));
  o = grouped("sync", "async");
  o.aggregation.groups[0].variables = "quick";
  EXPECT_THAT(problem(o), HasSubstr("no variable is called so; there are: slow, fast"));
}

}  // namespace
}  // namespace troupe
