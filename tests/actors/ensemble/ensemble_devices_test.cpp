// Members of an ensemble on several devices of one process.

#include <gmock/gmock.h>

#include "actors/training_run.h"
#include "support/message_of.h"
#include "troupe/actors/ensemble/ensemble_training.h"
#include "troupe/actors/training/training_devices.h"
#include "troupe/ops/device_scope.h"

namespace troupe {
namespace {

using test::small_model;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The small model, of which a part asks for that device.
ModelFunction asking_for(const std::string& device) {
  return [device](bool) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
    const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
    m.inputs = {x, y};
    const DeviceScope scope(*m.graph, device);
    const auto hidden = nn::dense(x, 8, {.name = "hidden", .activation = tanh});
    m.loss = nn::mean_squared_error(nn::dense(hidden, 1, {.name = "out"}), y);
    return m;
  };
}

class AnEnsembleOnDevices : public test::ATrainingRun {
 protected:
  static TrainedMember member(const std::string& name, const std::string& device = {},
                              const ModelFunction& model = small_model) {
    auto o = options();
    o.device = device;
    o.replicas = 2;
    o.max_steps = 10;
    return {name, model, o};
  }
  EnsembleTrainingOptions on(int devices) const {
    EnsembleTrainingOptions o;
    o.threads = {2, 2};
    o.devices = devices;
    o.directory = path("on-" + std::to_string(devices));
    return o;
  }
  std::map<std::string, Tensor> weights_in(const std::string& place) const {
    std::map<std::string, Tensor> weights;
    for (auto& record : Checkpoint::open(path(place)).read_all())
      weights.emplace(record.name, record.value);
    return weights;
  }
};

TEST_F(AnEnsembleOnDevices, HasTheBitsOfOneDevice) {
  for (const int devices : {1, 3}) {
    EnsembleTraining training({member("dealt"), member("asking", "", asking_for("/cpu:0")),
                               member("placed", devices == 1 ? "" : "/cpu:2")},
                              batches(1), on(devices));
    for (const auto& one : training.run().members)
      EXPECT_EQ(one.training.steps, 10u) << one.training.message;
    EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
  }
  for (const std::string name : {"dealt", "placed"}) {
    const auto several = weights_in("on-3/" + name);
    for (const auto& [variable, value] : weights_in("on-1/" + name))
      EXPECT_TRUE(same_bits(value, several.at(variable))) << variable << " of " << name;
  }
  test::expect_near(weights_in("on-1/asking"), weights_in("on-3/asking"));
}

TEST_F(AnEnsembleOnDevices, SaysWhereMembersAre) {
  EXPECT_THAT(
      EnsembleTraining({member("a"), member("b", "/device:CPU:1")}, batches(1), on(2)).describe(),
      AllOf(HasSubstr("devices: 2"), HasSubstr("member 'b': 2 replicas"), HasSubstr(", on CPU:1")));
}

TEST_F(AnEnsembleOnDevices, RefusesDevicesThatAreNotThere) {
  const auto message = [&](const TrainedMember& wrong, int devices = 2) {
    return test::message_of([&] {
      EnsembleTraining({member("right"), wrong}, batches(1), on(devices));
    });
  };
  EXPECT_THAT(message(member("wrong", "/cpu:2")),
              AllOf(HasSubstr("member 'wrong'"), HasSubstr("there is no device '/cpu:2'"),
                    HasSubstr("/device:CPU:0 to /device:CPU:1"), HasSubstr("devices")));
  EXPECT_THAT(message(member("wrong", "/gpu:0")), HasSubstr("there is no device '/gpu:0'"));
  EXPECT_THAT(message(member("wrong", "cpu:x")), HasSubstr("member 'wrong'"));
  EXPECT_THAT(message(member("wrong", "", asking_for("/cpu:3"))),
              AllOf(HasSubstr("member 'wrong'"), HasSubstr("Cannot assign a device")));
  EXPECT_THAT(message(member("wrong"), 0), HasSubstr("at least 1 and at most 1024 devices"));
  // Nobody is asked where there is one, or one is named.
  EXPECT_EQ(message(member("fine", "/cpu:1", asking_for("/cpu:3"))), "no error");
  EXPECT_EQ(message(member("fine", "", asking_for("/cpu:3")), 1), "no error");
}

TEST_F(AnEnsembleOnDevices, DealsReplicasOutOverThem) {
  Troupe troupe({2, 1});
  const TrainingDevices all(troupe, {2, 1}, 3, 4);
  const auto graph = small_model(true).graph;
  const auto rest = all.beginning_with(2);
  EXPECT_EQ(rest.of_replica(0, *graph), all.of_replica(2, *graph));
  EXPECT_EQ(rest.of_replica(1, *graph), all.of_replica(0, *graph));
  EXPECT_NE(all.of_replica(0, *graph), all.of_replica(1, *graph));
  const auto one = all.only("/job:localhost/device:CPU:1");
  for (const int replica : {0, 1, 2})
    EXPECT_EQ(one.of_replica(replica, *graph), all.of_replica(1, *graph));
  const auto asking = asking_for("/cpu:0")(true).graph;
  EXPECT_EQ(rest.of_replica(0, *asking), rest.of_replica(1, *asking)) << "a group of all of them";
  EXPECT_EQ(one.of_replica(0, *asking), all.of_replica(1, *graph));
}

}  // namespace
}  // namespace troupe
