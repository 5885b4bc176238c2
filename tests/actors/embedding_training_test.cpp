#include <gmock/gmock.h>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/ops/array.h"
#include "troupe/ops/reductions.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kRows = 50;

/// y = f(sum of the embeddings of three ids); the ids are computed from numbers of a file.
Model embedding_model(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 3});
  const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
  const auto table = variable(*m.graph, "embedding", {kRows, 5}, init::normal(0, 0.5));
  const auto rows = gather(table, cast(x, DType::int32));
  m.inputs = {x, y};
  m.loss = nn::mean_squared_error(nn::dense(reduce_sum(rows, {1}), 1, {.name = "out"}), y);
  return m;
}

class AnEmbedding : public test::ATrainingRun {
 protected:
  AnEmbedding() { write(kRows); }

  void write(std::int64_t rows) {
    std::ofstream x(path("ids.txt")), y(path("targets.txt"));
    for (int i = 0; i < 240; ++i) {
      x << i * 7 % rows << ' ' << i * i % rows << ' ' << i % 3 << '\n';
      y << std::sin(i * 0.37) << '\n';
    }
  }
  Batches data(std::int64_t epochs) const {
    return read_text({path("ids.txt")})
        .zip(read_text({path("targets.txt")}))
        .repeat(epochs)
        .decode({numbers({3}), numbers({1})}, {.decoders = 2, .block_records = 7})
        .shuffle({.capacity = 100, .min_after_dequeue = 40})
        .batch(24, Remainder::drop);
  }
  static TrainingOptions by_rows(TrainingOptions o = options()) {
    o.tables.from_bytes = 0;
    return o;
  }
  static TrainingOptions as_a_whole(TrainingOptions o = options()) {
    o.tables.none = true;
    return o;
  }
  std::map<std::string, Tensor> train(TrainingOptions o,
                                      const ModelFunction& model = embedding_model) {
    if (o.checkpoints.directory.empty())
      o.checkpoints.directory = path("run-" + std::to_string(++runs));
    Training training(model, data(3), o);
    description = training.describe();
    outcome = training.run();
    EXPECT_NE(outcome.ending, Ending::failed) << outcome.message;
    EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
    std::map<std::string, Tensor> saved;
    for (auto& record : Checkpoint::open(o.checkpoints.directory).read_all())
      saved.emplace(record.name, record.value);
    return saved;
  }
  static void expect_same(const std::map<std::string, Tensor>& a,
                          const std::map<std::string, Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, value] : a) EXPECT_TRUE(same_bits(value, b.at(name))) << name;
  }

  std::string description;
};

TEST_F(AnEmbedding, LearnsByRowsTheSameBitsAsInWhole) {
  for (const auto* rule : {"sgd", "momentum(0.9)", "adam(0.9, 0.999, 1e-8, lazy)", "adam"}) {
    auto o = options();
    o.optimizer = parse_optimizer(rule);
    o.replicas = 2;
    o.evaluation.data = data(1);
    const auto rows = train(by_rows(o));
    EXPECT_THAT(description, HasSubstr("(1 by rows)"));
    const auto evaluated = outcome.evaluation;
    expect_same(rows, train(as_a_whole(o)));
    EXPECT_THAT(description, ::testing::Not(HasSubstr("by rows")));
    EXPECT_EQ(evaluated, outcome.evaluation) << rule;
  }
}

TEST_F(AnEmbedding, DoesSoWithAveragesClippingAndAccumulation) {
  auto o = options();
  o.average_decay = 0.99;
  o.aggregation.clip_norm = 0.05;
  o.aggregation.accumulate = 2;
  o.replicas = 2;
  o.evaluation.data = data(1);
  const auto rows = train(by_rows(o));
  const auto evaluated = outcome.evaluation;
  expect_same(rows, train(as_a_whole(o)));
  EXPECT_EQ(evaluated, outcome.evaluation);
}

TEST_F(AnEmbedding, IsSplitOverShardsWithoutADifference) {
  auto o = options();
  o.replicas = 2;
  o.shards = 3;
  o.evaluation.data = data(1);
  const auto whole = train(as_a_whole(o));
  const auto evaluated = outcome.evaluation;
  o.max_shard_bytes = 400;  // the table has 1000 bytes
  for (const auto& cut : {by_rows(o), as_a_whole(o)}) {
    expect_same(whole, train(cut));
    EXPECT_EQ(evaluated, outcome.evaluation);
  }
}

TEST_F(AnEmbedding, GoesOnWithAnotherNumberOfShards) {
  auto o = by_rows();
  o.optimizer = optim::momentum(0.9);
  o.max_steps = 8;
  const auto undisturbed_at_8 = train(o);
  o.shards = 3;
  o.max_shard_bytes = 400;
  o.checkpoints.directory = path("split");
  expect_same(undisturbed_at_8, train(o));
  for (const int shards : {2, 1}) {
    o.shards = shards;
    o.max_steps = 8;
    o.checkpoints.resume_from = path("split");
    o.checkpoints.directory = path("on-" + std::to_string(shards));
    o.max_steps = 9;
    train(o);
    EXPECT_EQ(outcome.steps, 9u);
  }
  EXPECT_TRUE(same_bits(Checkpoint::open(path("on-2")).read("embedding"),
                        Checkpoint::open(path("on-1")).read("embedding")));
}

TEST_F(AnEmbedding, LearnsTheSameBitsWithCopiesOfShards) {
  auto o = options();
  o.replicas = 2;
  o.shards = 2;
  o.evaluation.data = data(1);
  const auto alone = train(by_rows(o));
  o.backup_shards = 1;
  expect_same(alone, train(by_rows(o)));
  EXPECT_EQ(outcome.steps, 30u);
}

TEST_F(AnEmbedding, LearnsWithPoliciesWhoseReplicasDoNotWait) {
  for (const auto* policy : {"async", "ssp:1"}) {
    auto o = options();
    o.deterministic = false;
    o.aggregation.policy = policy;
    o.replicas = 2;
    o.shards = 2;
    o.max_shard_bytes = 400;
    train(by_rows(o));
    EXPECT_EQ(outcome.steps, 30u) << policy;
  }
}

TEST_F(AnEmbedding, IsKeptWholeForLocalStepsWhichCannotBeChosenLater) {
  auto o = by_rows();
  o.deterministic = false;
  o.replicas = 2;
  const Training training(embedding_model, data(1), o);
  EXPECT_THAT(test::message_of([&] { const_cast<Training&>(training).change_policy("local:2"); }),
              HasSubstr("'embedding' is pulled by rows"));
  o.aggregation.policy = "local:2";
  train(o);
  EXPECT_THAT(description, ::testing::Not(HasSubstr("by rows")));
}

TEST_F(AnEmbedding, SaysWhoAsksForARowThatThereIsNot) {
  write(kRows + 1);
  Training training(embedding_model, data(1), by_rows());
  outcome = training.run();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, ::testing::MatchesRegex(
                                   "replica 0: batch [0-9]+, row [0-9]+: variable 'embedding' has "
                                   "rows \\[0, 50\\), but 'gather' reads row 50"));
}

// ---- which variables are tables --------------------------------------------------------------

std::vector<std::string> tables_of(const std::function<Output(Graph&, Output, Output)>& use) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto ids = placeholder(*m.graph, "ids", DType::int64, {-1});
  const auto table = variable(*m.graph, "table", {20, 3}, init::ones());
  m.inputs = {ids};
  m.loss = reduce_mean(use(*m.graph, table, ids));
  return table_variables(m, {.from_bytes = 0});
}

TEST(TableVariables, AreThoseThatOnlyGatherReads) {
  EXPECT_THAT(tables_of([](Graph&, Output t, Output ids) { return gather(t, ids); }),
              ElementsAre("table"));
  EXPECT_THAT(tables_of([](Graph&, Output t, Output ids) {
                return gather(t, ids) + gather(t, ids + constant(ids.graph(), 1, DType::int64));
              }),
              ElementsAre("table"));
  // Another axis, another use, and numbers that depend on a variable.
  EXPECT_THAT(tables_of([](Graph&, Output t, Output ids) { return gather(t, ids, 1); }), IsEmpty());
  EXPECT_THAT(tables_of([](Graph&, Output t, Output ids) {
                return reduce_sum(gather(t, ids)) + reduce_sum(square(t));
              }),
              IsEmpty());
  EXPECT_THAT(tables_of([](Graph& g, Output t, Output) {
                const auto which = variable(g, "which", {2}, init::zeros());
                return gather(t, cast(which, DType::int64));
              }),
              IsEmpty());
}

TEST(TableVariables, AreLargeEnough) {
  Model m = embedding_model(true);
  EXPECT_THAT(table_variables(m, {.from_bytes = 1000}), ElementsAre("embedding"));
  EXPECT_THAT(table_variables(m, {.from_bytes = 1001}), IsEmpty());
  EXPECT_THAT(table_variables(m, {.from_bytes = 0, .none = true}), IsEmpty());
}

}  // namespace
}  // namespace troupe
