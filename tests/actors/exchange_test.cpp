// How gradients travel between replicas and shards: all-reduce, compression, 16 bits.
#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <mutex>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/ops/array.h"
#include "troupe/ops/reductions.h"

namespace troupe {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

/// Dense gradients, a sparse one, and moving averages that are assigned.
Model varied_model(bool training) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
  const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
  const auto table = variable(*m.graph, "table", {5, 3}, init::normal(0, 0.5));
  const auto ids = cast(mul(square(x), constant(*m.graph, Tensor::scalar(4.0F))), DType::int32);
  const auto rows = reduce_sum(gather(table, ids), {1});
  const auto hidden = nn::batch_norm(nn::dense(x, 8, {.name = "hidden"}), training);
  m.inputs = {x, y};
  m.loss =
      nn::mean_squared_error(nn::dense(concat({tanh(hidden), rows}, 1), 1, {.name = "out"}), y);
  return m;
}

class AnExchange : public test::ATrainingRun {
 protected:
  std::map<std::string, Tensor> train(TrainingOptions o, const ModelFunction& model = varied_model,
                                      const std::function<void(Training&)>& begun = {}) {
    if (o.checkpoints.directory.empty())
      o.checkpoints.directory = path("run-" + std::to_string(++runs));
    o.events = [this](const std::string& event) {
      const std::lock_guard guard(mutex);
      events.push_back(event);
    };
    Training training(model, batches(3), o);
    if (begun) begun(training);
    outcome = training.run();
    EXPECT_NE(outcome.ending, Ending::failed) << outcome.message;
    EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
    std::map<std::string, Tensor> saved;
    for (auto& record : Checkpoint::open(o.checkpoints.directory).read_all())
      if (record.kind == TensorKind::variable) saved.emplace(record.name, record.value);
    return saved;
  }
  /// So many the last run has left.
  std::size_t checkpoints() const {
    const std::filesystem::directory_iterator all(path("run-" + std::to_string(runs)));
    return static_cast<std::size_t>(std::count_if(begin(all), end(all), [](const auto& file) {
      return file.path().extension() == ".manifest";
    }));
  }
  double distance(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
    double most = 0;
    for (const auto& [name, value] : a)
      for (std::int64_t i = 0; i < value.size(); ++i)
        most = std::max(most, std::abs(value.at(i) - b.at(name).at(i)));
    return most;
  }
  std::string refusal(const TrainingOptions& o) {
    return test::message_of([&] { Training(varied_model, batches(1), o); });
  }

  std::mutex mutex;
  std::vector<std::string> events;
};

// ---- all-reduce ------------------------------------------------------------------------------

class AnAllReduce : public AnExchange, public ::testing::WithParamInterface<std::string> {
 protected:
  TrainingOptions reduced(int replicas) const {
    auto o = options();
    o.replicas = replicas;
    o.aggregation.all_reduce = GetParam();
    return o;
  }
};

TEST_P(AnAllReduce, GivesTheWeightsThatShardsGive) {
  auto o = options();
  const auto shards = train(o);
  const auto steps = outcome.steps;
  for (const int replicas : {1, 2, 3, 5}) {
    // Batch normalisation sees the batch of each replica: the same number in both.
    o.replicas = replicas;
    const auto expected = train(o);
    test::expect_near(train(reduced(replicas)), expected);
    EXPECT_EQ(outcome.steps, steps);
  }
}

TEST_P(AnAllReduce, GivesTheSameBitsEachTimeWhenDeterministic) {
  const auto once = train(reduced(3));
  const auto again = train(reduced(3));
  EXPECT_EQ(distance(once, again), 0);
}

TEST_P(AnAllReduce, ClipsTheNormOfAllGradientsTogether) {
  auto o = options();
  o.replicas = 2;
  o.aggregation.clip_norm = 0.05;
  const auto expected = train(o);
  EXPECT_GT(outcome.aggregation.clipped, 0U);
  const auto clipped = outcome.aggregation.clipped;
  o.aggregation.all_reduce = GetParam();
  test::expect_near(train(o), expected);
  EXPECT_EQ(outcome.aggregation.clipped, clipped);
}

TEST_P(AnAllReduce, ReadsRowsOfTables) {
  auto o = reduced(2);
  const auto whole = train(o);
  o.tables.from_bytes = 0;
  test::expect_near(train(o), whole);
}

TEST_P(AnAllReduce, GoesOnFromACheckpoint) {
  auto o = reduced(2);
  o.checkpoints.directory = path("first");
  o.checkpoints.every = 5;
  train(o);
  const auto steps = outcome.steps;
  o.checkpoints.resume = true;
  o.checkpoints.every = 0;
  Training more(varied_model, batches(4), o);
  const auto outcome = more.run();
  EXPECT_EQ(outcome.ending, Ending::end_of_data) << outcome.message;
  EXPECT_EQ(outcome.steps, steps + 10);
}

TEST_P(AnAllReduce, WorksWithAccumulatedBatchesAndBackupReplicas) {
  auto o = reduced(3);
  o.aggregation.accumulate = 2;
  train(o);
  o.aggregation.accumulate = 1;
  o.deterministic = false;
  o.aggregation.policy = "sync:backups=1";
  train(o);
  EXPECT_GT(outcome.steps, 0U);
}

TEST_P(AnAllReduce, EndsWithTheSameBitsWhoeverIsKilled) {
  auto o = reduced(3);
  o.restarts.delay = std::chrono::milliseconds(1);
  o.checkpoints.every = 4;
  o.checkpoints.keep = 0;
  const auto undisturbed = train(o);
  const auto records = outcome.examples;
  const std::vector<std::vector<std::string>> victims{
      {"replica 1"},
      {"shard 0"},
      {"reducer 2"},
      {"shard 1", "reducer 1", "replica 1"},  // as with a process of its own
      {"shard 0", "reducer 1"},
  };
  for (const auto& killed : victims)
    for (const std::size_t at : {1, 3}) {
      Training* training = nullptr;
      std::size_t published = 0;
      o.publish = {4, [&](const Parameters&) {
                     if (++published == at)
                       for (const auto& name : killed) training->kill(name);
                   }};
      const auto weights = train(o, varied_model, [&](Training& begun) { training = &begun; });
      EXPECT_EQ(distance(weights, undisturbed), 0) << killed[0] << ' ' << at;
      EXPECT_EQ(outcome.examples, records) << killed[0] << ' ' << at;
      EXPECT_GT(outcome.restarts, 0U) << killed[0] << ' ' << at;
      EXPECT_EQ(checkpoints(), 1 + outcome.steps / 4) << killed[0] << ' ' << at;
    }
}

TEST_P(AnAllReduce, EndsWhenRestartsAreUsedUp) {
  auto o = reduced(2);
  o.restarts.most = 0;
  Training* training = nullptr;
  o.publish = {4, [&](const Parameters&) { training->kill("shard 1"); }};
  Training one(varied_model, batches(3), o);
  training = &one;
  const auto outcome = one.run();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, HasSubstr("shard 1 died"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, AnAllReduce, ::testing::Values("ring", "tree"),
                         [](const auto& info) { return info.param; });

TEST_F(AnExchange, RefusesAnAllReduceOfWhatHasToBeInOnePlace) {
  auto o = options();
  o.deterministic = false;
  o.aggregation.all_reduce = "star";
  EXPECT_THAT(refusal(o), HasSubstr("choose ring or tree"));
  o.aggregation.all_reduce = "ring";
  o.aggregation.policy = "async";
  EXPECT_THAT(refusal(o), HasSubstr("policy 'async' needs shards"));
  o.aggregation.policy = "sync";
  o.shards = 2;
  EXPECT_THAT(refusal(o), HasSubstr("shards must be 1"));
}

TEST_F(AnExchange, RefusesToLeaveSyncWhileReplicasAllReduce) {
  auto o = options();
  o.deterministic = false;
  o.replicas = 2;
  o.aggregation.all_reduce = "ring";
  Training training(varied_model, batches(1), o);
  EXPECT_THAT(test::message_of([&] { training.change_policy("async"); }),
              HasSubstr("needs shards"));
}

// ---- compression -----------------------------------------------------------------------------

TEST_F(AnExchange, PushesGradientsIn16Bits) {
  auto o = options();
  o.replicas = 2;
  const auto exact = train(o);
  for (const auto* kind : {"bfloat16", "float16"}) {
    o.aggregation.compression = kind;
    const auto rounded = train(o);
    EXPECT_GT(distance(rounded, exact), 0) << kind;
    EXPECT_LT(distance(rounded, exact), 0.05) << kind;
  }
}

TEST_F(AnExchange, LearnsFromTheLargestGradientsAlone) {
  auto o = options();
  o.replicas = 2;
  o.learning_rate = 0.01;
  o.aggregation.compression = "topk:0.1";
  o.evaluation.data = batches(1);
  train(o);
  const auto loss = outcome.evaluation.at(0);
  o.max_steps = 1;
  train(o);
  EXPECT_LT(loss, 0.7 * outcome.evaluation.at(0));
}

TEST_F(AnExchange, CompressesForAllReplicasPoliciesAndShards) {
  for (const auto* policy : {"async", "ssp:1", "sync:backups=1"})
    for (const auto* kind : {"bfloat16", "topk:0.2"}) {
      auto o = options();
      o.deterministic = false;
      o.learning_rate = 0.001;
      o.replicas = 3;
      o.shards = 2;
      o.max_shard_bytes = 64;
      o.aggregation.policy = policy;
      o.aggregation.compression = kind;
      train(o);
      EXPECT_GT(outcome.steps, 0U) << policy << ", " << kind;
    }
}

TEST_F(AnExchange, RefusesToCompressWeights) {
  auto o = options();
  o.replicas = 2;
  o.aggregation.policy = "local:2";
  o.aggregation.compression = "bfloat16";
  EXPECT_THAT(refusal(o), HasSubstr("aggregation.compression must be none"));
  o.aggregation.policy = "sync";
  o.aggregation.compression = "zip";
  EXPECT_THAT(refusal(o), HasSubstr("there is no compression 'zip'"));
}

// ---- mixed precision -------------------------------------------------------------------------

TEST_F(AnExchange, MultipliesIn16BitsAndKeepsWeightsOf32) {
  auto o = options();
  o.learning_rate = 0.01;
  const auto exact = train(o);
  for (const auto precision : {DType::bfloat16, DType::float16}) {
    o.precision = precision;
    if (precision == DType::float16)
      o.loss_scale.initial = 16;  // all gradients fit: none is left out
    const auto mixed = train(o);
    EXPECT_GT(distance(mixed, exact), 0) << precision;
    EXPECT_LT(distance(mixed, exact), 0.1) << precision;
    EXPECT_EQ(mixed.at("out/weights").dtype(), DType::float32);
  }
}

TEST_F(AnExchange, ScalesTheLossDownUntilItsGradientsFit) {
  auto o = options();
  o.precision = DType::float16;
  o.replicas = 2;
  o.loss_scale.initial = 0x1p30;
  train(o);
  EXPECT_THAT(events, Contains(HasSubstr("values that are not finite: it is left out")));
  EXPECT_GT(outcome.steps, 0U);
}

TEST_F(AnExchange, GivesUpOnALossScaleThatDoesNotHelp) {
  auto o = options();
  o.precision = DType::float16;
  o.learning_rate = 1e30;
  Training training(varied_model, batches(3), o);
  const auto outcome = training.run();
  EXPECT_EQ(outcome.ending, Ending::failed);
  EXPECT_THAT(outcome.message, AnyOf(HasSubstr("not finite although the loss is not scaled"),
                                     HasSubstr("the loss is ")));
}

TEST_F(AnExchange, RefusesPrecisionsThatAreNone) {
  auto o = options();
  o.precision = DType::int8;
  EXPECT_THAT(refusal(o), HasSubstr("precision must be float32, bfloat16 or float16"));
  o.precision = DType::float16;
  o.replicas = 2;
  o.aggregation.policy = "local:2";
  EXPECT_THAT(refusal(o), HasSubstr("choose precision bfloat16"));
  o.aggregation.policy = "sync";
  o.loss_scale.initial = 3;
  EXPECT_THAT(refusal(o), HasSubstr("powers of two"));
}

TEST_F(AnExchange, RefusesALossScaleThatNothingIsScaledWith) {
  auto o = options();
  o.loss_scale.initial = 16;
  for (const auto precision : {DType::float32, DType::bfloat16}) {
    o.precision = precision;
    EXPECT_THAT(refusal(o), HasSubstr("choose precision float16, or leave loss_scale out"));
  }
}

TEST_F(AnExchange, RefusesToLeaveOutWhoIsLateWithoutSayingWhenThatIs) {
  auto o = options();
  o.deterministic = false;
  o.aggregation.leave_out_late = true;
  EXPECT_THAT(refusal(o), HasSubstr("set aggregation.round_deadline"));
  o.aggregation.round_deadline = std::chrono::seconds(1);
  EXPECT_EQ(refusal(o), "no error");
}

}  // namespace
}  // namespace troupe
