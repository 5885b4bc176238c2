// Training on several devices of one process.

#include <gmock/gmock.h>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/explain/explanation.h"
#include "troupe/ops/array.h"
#include "troupe/ops/device_scope.h"
#include "troupe/ops/matmul.h"

namespace troupe {
namespace {

using test::small_model;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two towers, each on a device of its own, that see half of the input.
ModelFunction towers(const std::string& second) {
  return [second](bool) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
    const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
    OutputList halves;
    for (int i = 0; i < 2; ++i) {
      const DeviceScope device(*m.graph, i == 0 ? "/cpu:0" : second);
      halves.push_back(nn::dense(slice(x, {0, 2 * i}, {-1, 2}), 3,
                                 {.name = text("tower_", i), .activation = tanh}));
    }
    m.inputs = {x, y};
    m.loss = nn::mean_squared_error(nn::dense(concat(halves, 1), 1, {.name = "out"}), y);
    return m;
  };
}

class TrainingOnDevices : public test::ATrainingRun {
 protected:
  std::map<std::string, Tensor> train_on(int devices, const ModelFunction& model,
                                         int replicas = 1) {
    auto o = options();
    o.devices = devices;
    o.replicas = replicas;
    o.evaluation.data = batches(1, 240);
    o.checkpoints.directory = path("run-" + std::to_string(++runs));
    Training training(model, batches(3), o);
    outcome = training.run();
    EXPECT_EQ(outcome.steps, 30u) << outcome.message;
    table = activity_table(training.explain());
    description = training.describe();
    EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
    std::map<std::string, Tensor> weights;
    for (auto& record : Checkpoint::open(o.checkpoints.directory).read_all())
      if (record.kind == TensorKind::variable) weights.emplace(record.name, record.value);
    return weights;
  }
  std::string table, description;
};

TEST_F(TrainingOnDevices, GivesTheBitsOfOneDevice) {
  const auto one = train_on(1, small_model, 4);
  EXPECT_THAT(table, AllOf(HasSubstr("device CPU:0"), Not(HasSubstr("device CPU:1"))));
  for (const int devices : {2, 3}) {
    const auto several = train_on(devices, small_model, 4);
    for (const auto& [name, value] : one)
      EXPECT_TRUE(same_bits(value, several.at(name))) << name << " on " << devices;
  }
}

TEST_F(TrainingOnDevices, ShowsEachOfThem) {
  train_on(2, small_model, 2);
  EXPECT_THAT(table, AllOf(HasSubstr("device CPU:0"), HasSubstr("device CPU:1")));
  EXPECT_THAT(description, HasSubstr("devices: 2, replica i on device i modulo 2"));
}

TEST_F(TrainingOnDevices, RunsAModelWhosePartsAreOnSeveral) {
  const auto one = train_on(1, towers("/cpu:1"));
  const auto loss = outcome.evaluation.at(0);
  const auto two = train_on(2, towers("/cpu:1"));
  test::expect_near(one, two);
  EXPECT_NEAR(outcome.evaluation.at(0), loss, 1e-6);
  EXPECT_THAT(description, HasSubstr("nodes on CPU:1"));
}

TEST_F(TrainingOnDevices, RunsSeveralReplicasOfAModelOverAllOfThem) {
  test::expect_near(train_on(2, towers("/cpu:1")), train_on(2, towers("/cpu:1"), 2));
}

TEST_F(TrainingOnDevices, RefusesAModelThatAsksForOneThatIsNotThere) {
  auto o = options();
  o.devices = 2;
  EXPECT_THAT(test::message_of([&] { Training(towers("/cpu:2"), batches(1), o); }),
              AllOf(HasSubstr("Cannot assign a device"), HasSubstr("TrainingOptions::devices")));
  o.devices = 0;
  EXPECT_THAT(test::message_of([&] { Training(small_model, batches(1), o); }),
              HasSubstr("at least 1 and at most 1024 devices"));
}

}  // namespace
}  // namespace troupe
