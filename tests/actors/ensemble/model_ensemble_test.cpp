#include "troupe/actors/ensemble/model_ensemble.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/checkpoint/checkpoint_writer.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// w * x; a query has x only, although training had labels too.
Model scaling(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1});
  const auto labels = placeholder(*m.graph, "labels", DType::float32, {-1});
  const auto w = variable(*m.graph, "w", {}, init::constant(1));
  m.inputs = {x, labels};
  m.predictions = w * x;
  m.loss = reduce_sum(square(m.predictions - labels));
  return m;
}

Parameters weight(float w) { return {1, {"w"}, {Tensor::scalar(w)}, {}}; }
TensorList query() { return {Tensor::of<float>({2}, {1, 10})}; }

void save(const std::string& directory, std::int64_t step, std::vector<TensorRecord> records) {
  CheckpointWriter writer(directory);
  Manifest manifest;
  manifest.step = step;
  manifest.files = {write_shard(directory, step, 0, 1, records)};
  writer.publish(manifest);
}

class AModelEnsemble : public ::testing::Test {
 protected:
  ModelEnsemble ensemble{{}, {.inter_op = 2, .intra_op = 1}};
};

TEST_F(AModelEnsemble, AnswersForAllItsModels) {
  ensemble.join("one", scaling, weight(1));
  ensemble.join("three", scaling, weight(3), 3);
  const auto answer = ensemble.run(query());
  EXPECT_THAT(answer.outputs.at(0).read<float>(), ElementsAre(2.5, 25));
  EXPECT_THAT(answer.answered, ElementsAre("one", "three"));
}

TEST_F(AModelEnsemble, GivesAMemberOtherWeightsWhileItWorks) {
  ensemble.join("one", scaling, weight(1));
  ensemble.assign("one", weight(5));
  EXPECT_THAT(ensemble.run(query()).outputs.at(0).read<float>(), ElementsAre(5, 50));
}

TEST_F(AModelEnsemble, TakesWeightsFromCheckpointsAndMovingAveragesWhereThereAreSome) {
  test::TemporaryDirectory directory;
  save(directory / "plain", 5, {{"w", TensorKind::variable, "", "", Tensor::scalar(2.0f)}});
  save(directory / "averaged", 6,
       {{"w", TensorKind::variable, "", "", Tensor::scalar(2.0f)},
        {"w/average", TensorKind::moving_average, "w", "average", Tensor::scalar(4.0f)}});
  ensemble.join("m", scaling, directory / "plain");
  EXPECT_THAT(ensemble.run(query()).outputs.at(0).read<float>(), ElementsAre(2, 20));
  ensemble.assign("m", directory / "averaged");
  EXPECT_THAT(ensemble.run(query()).outputs.at(0).read<float>(), ElementsAre(4, 40));
}

TEST_F(AModelEnsemble, RefusesWeightsThatDoNotFitAndKeepsItsOwn) {
  ensemble.join("one", scaling, weight(1));
  const Parameters wide{1, {"w"}, {Tensor::of<float>({2}, {1, 2})}, {}};
  const Parameters other{1, {"v"}, {Tensor::scalar(1.0f)}, {}};
  const auto wrong_shape =
      IsError(Code::invalid_argument,
              HasSubstr("member 'one': variable 'w' is float32 [], but its value is float32 [2]"));
  EXPECT_THAT(error_of([&] { ensemble.assign("one", wide); }), wrong_shape);
  EXPECT_THAT(error_of([&] { ensemble.assign("one", other); }),
              IsError(Code::not_found, HasSubstr("no value for variable 'w' (float32 [])")));
  EXPECT_THAT(error_of([&] { ensemble.join("two", scaling, other); }),
              IsError(Code::not_found, HasSubstr("member 'two'")));
  EXPECT_THAT(ensemble.run(query()).outputs.at(0).read<float>(), ElementsAre(1, 10));
}

TEST_F(AModelEnsemble, SaysWhatIsWrongWithAQuery) {
  ensemble.join("one", scaling, weight(1));
  EXPECT_THAT(error_of([&] { ensemble.run({}); }),
              IsError(Code::invalid_argument, HasSubstr("member 'one': the model has 1 inputs")));
  EXPECT_THAT(error_of([&] { ensemble.run({Tensor::of<double>({1}, {1})}); }),
              IsError(Code::invalid_argument, HasSubstr("'x'")));
}

TEST_F(AModelEnsemble, KnowsItsMembersByTheirNames) {
  ensemble.join("one", scaling, weight(1));
  EXPECT_THAT(error_of([&] { ensemble.join("one", scaling, weight(1)); }),
              IsError(Code::already_exists, HasSubstr("'one'")));
  EXPECT_THAT(error_of([&] { ensemble.leave("two"); }), IsError(Code::not_found, HasSubstr("two")));
  ensemble.leave("one");
  EXPECT_THAT(error_of([&] { ensemble.run(query()); }),
              IsError(Code::unavailable, HasSubstr("has no members")));
  ensemble.join("one", scaling, weight(2));
  EXPECT_THAT(ensemble.run(query()).outputs.at(0).read<float>(), ElementsAre(2, 20));
}

TEST_F(AModelEnsemble, AnswersEverybodyWhileMembersComeAndGoAndChange) {
  ensemble.join("stays", scaling, weight(1));
  constexpr int kQueries = 200;
  std::atomic<int> answered{0};
  std::vector<std::thread> askers;
  for (int i = 0; i < 3; ++i)
    askers.emplace_back([&] {
      for (int q = 0; q < kQueries; ++q)
        if (ensemble.run(query()).outputs.at(0).read<float>()[0] == 1) ++answered;
    });
  for (int i = 0; i < 50; ++i) {
    ensemble.join("guest", scaling, weight(1));
    ensemble.assign("stays", weight(1));
    ensemble.leave("guest");
  }
  for (auto& asker : askers) asker.join();
  EXPECT_EQ(answered.load(), 3 * kQueries);
  EXPECT_EQ(ensemble.status().answered, 3u * kQueries);
  EXPECT_EQ(ensemble.status().failed, 0u);
}

TEST(ModelEnsemble, IsNotMadeWithOptionsThatMakeNoSense) {
  EXPECT_THAT(error_of([] { ModelEnsemble({.name = "jury", .quorum = -1}); }),
              IsError(Code::invalid_argument, HasSubstr("ensemble 'jury'")));
}

}  // namespace
}  // namespace troupe
