// Graphs over several devices of one process, as a session runs them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/check_gradient.h"
#include "support/message_of.h"
#include "support/test_ops.h"
#include "support/thread_names.h"
#include "troupe/actors/session.h"
#include "troupe/ops/array.h"
#include "troupe/ops/device_scope.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/random_ops.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/replica_device_setter.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

SessionOptions on_devices(std::vector<std::string> devices) {
  return {.threads = {2, 1},
          .seed = 7,
          .timeout = std::chrono::seconds(60),
          .devices = std::move(devices)};
}

struct Net {
  GraphPtr graph = std::make_shared<Graph>();
  Output x = placeholder(*graph, "x", DType::float32, {-1, 4});
  Output target = placeholder(*graph, "target", DType::float32, {-1, 1});
  Output loss;
  Output step;

  std::string at(int device) const { return text("/cpu:", device); }

  /// w -= 0.1 dw, where w is.
  void train(const OutputList& variables) {
    const auto found = gradients(loss, variables);
    OutputList updates;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const ColocationScope beside(*graph, variables[i].node());
      updates.push_back(assign_sub(variables[i], found[i].dense() * 0.1));
    }
    step = group(*graph, updates, "step");
  }
};

/// Two towers of two layers, each seeing half of the input, which meet in the last layer.
struct PartlyConnectedNet : Net {
  explicit PartlyConnectedNet(int devices) {
    OutputList variables, halves;
    for (int tower = 0; tower < 2; ++tower) {
      const NameScope name(*graph, text("tower_", tower));
      const DeviceScope device(*graph, at(tower % devices));
      const auto half = slice(x, {0, 2 * tower}, {-1, 2});
      variables.push_back(variable(*graph, "w1", {2, 3}, init::normal(0, 1)));
      variables.push_back(variable(*graph, "w2", {3, 2}, init::normal(0, 1)));
      halves.push_back(
          tanh(matmul(tanh(matmul(half, variables[2 * tower])), variables[2 * tower + 1])));
    }
    const DeviceScope device(*graph, at(0));
    variables.push_back(variable(*graph, "last", {4, 1}, init::normal(0, 1)));
    loss = named("loss", reduce_mean(square(matmul(concat(halves, 1), variables.back()) - target)));
    train(variables);
  }
};

/// The same net once for each device, with shared weights and a share of the batch; the
/// mean of their gradients is what one net has on the whole batch.
struct Towers : Net {
  explicit Towers(int towers) {
    OutputList variables;
    {
      const DeviceScope device(*graph, at(0));
      variables = {variable(*graph, "w", {4, 3}, init::normal(0, 1)),
                   variable(*graph, "v", {3, 1}, init::normal(0, 1))};
    }
    std::vector<OutputList> found(variables.size());
    OutputList losses;
    const auto inputs = split(x, std::vector<std::int64_t>(towers, 8 / towers), 0);
    const auto targets = split(target, std::vector<std::int64_t>(towers, 8 / towers), 0);
    for (int tower = 0; tower < towers; ++tower) {
      const NameScope name(*graph, text("tower_", tower));
      const DeviceScope device(*graph, at(tower));
      const auto y = matmul(tanh(matmul(inputs[tower], variables[0])), variables[1]);
      losses.push_back(reduce_mean(square(y - targets[tower])));
      const auto tower_gradients = gradients(losses.back(), variables);
      for (std::size_t i = 0; i < variables.size(); ++i)
        found[i].push_back(tower_gradients[i].dense());
    }
    OutputList updates;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const ColocationScope beside(*graph, variables[i].node());
      updates.push_back(assign_sub(variables[i], add_n(found[i]) * (0.1 / towers)));
    }
    const DeviceScope device(*graph, at(0));
    loss = named("loss", add_n(losses) * (1.0 / towers));
    step = group(*graph, updates, "step");
  }
};

class ModelParallel : public testing::Test {
 protected:
  ModelParallel() { test::TestOps::add(); }

  std::vector<double> train(const Net& net, Session& session, int steps) {
    const auto inputs = test::random_values({8, 4}, 3, -1, 1, DType::float32);
    const auto targets = test::random_values({8, 1}, 4, -1, 1, DType::float32);
    session.initialize();
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i)
      losses.push_back(
          session.run({net.loss}, {{net.x, inputs}, {net.target, targets}}, {net.step})[0].item());
    return losses;
  }
  static void expect_equal(const std::map<std::string, Tensor>& a,
                           const std::map<std::string, Tensor>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, value] : a)
      for (std::int64_t i = 0; i < value.size(); ++i)
        EXPECT_NEAR(value.at(i), b.at(name).at(i), 1e-5) << name << ' ' << i;
  }
  static std::string device_of(const Session& session, const Output& output) {
    const auto& placement = session.placement();
    return placement.name_of(output.node());
  }

  const GraphPtr graph = std::make_shared<Graph>();
};

TEST_F(ModelParallel, TrainsAPartlyConnectedNetOnTwoDevicesAsOnOne) {
  const PartlyConnectedNet apart(2), together(1);
  Session two(apart.graph, on_devices(cpu_devices(2)));
  Session one(together.graph, on_devices(cpu_devices(1)));
  const auto losses = train(apart, two, 30);
  const auto expected = train(together, one, 30);
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5);
  EXPECT_LT(losses.back(), 0.7 * losses.front());
  expect_equal(two.variables(), one.variables());
  EXPECT_THAT(device_of(two, apart.graph->output("tower_1/matmul")), HasSubstr("CPU:1"));
  int on_second = 0;
  for (const auto& node : apart.graph->nodes())
    on_second += node.name.rfind("gradients", 0) == 0 && two.placement().device_of(node) == 1;
  EXPECT_GT(on_second, 4) << "its way back is there too";
}

TEST_F(ModelParallel, AveragesTheGradientsOfTowersToThoseOfTheWholeBatch) {
  const Towers replicated(2), whole(1);
  Session two(replicated.graph, on_devices(cpu_devices(2)));
  Session one(whole.graph, on_devices(cpu_devices(1)));
  const auto losses = train(replicated, two, 20);
  const auto expected = train(whole, one, 20);
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5);
  expect_equal(two.variables(), one.variables());
}

TEST_F(ModelParallel, GivesTheSameBitsHoweverOftenItRuns) {
  const PartlyConnectedNet net(2);
  Session a(net.graph, on_devices(cpu_devices(2))), b(net.graph, on_devices(cpu_devices(2)));
  EXPECT_EQ(train(net, a, 10), train(net, b, 10));
}

TEST_F(ModelParallel, DrawsTheSameRandomNumbersWhereverANodeIs) {
  const auto draw = [](int devices) {
    const auto graph = std::make_shared<Graph>();
    OutputList draws;
    for (int i = 0; i < 2; ++i) {
      const DeviceScope device(*graph, text("/cpu:", i % devices));
      draws.push_back(random_uniform(*graph, {4}, 0, 1));
    }
    const auto sum = draws[0] + draws[1];
    Session session(graph, on_devices(cpu_devices(devices)));
    return TensorList{session.run(sum), session.run(sum)};
  };
  const auto one = draw(1), two = draw(2);
  EXPECT_TRUE(same_bits(one[0], two[0]));
  EXPECT_TRUE(same_bits(one[1], two[1]));
}

TEST_F(ModelParallel, RunsDevicesAtTheSameTime) {
  const auto x = placeholder(*graph, "x", DType::float32, {1});
  OutputList met;
  for (int i = 0; i < 2; ++i) {
    const DeviceScope device(*graph, text("/cpu:", i));
    met.push_back(graph->add("test_meet", {x}, Attributes{{"count", 2}}).output(0));
  }
  const auto sum = met[0] + met[1];
  Session session(graph, on_devices(cpu_devices(2)));
  test::meeting().reset();
  EXPECT_EQ(session.run(sum, {{x, Tensor::of<float>({1}, {2})}}).item(), 4);
}

TEST_F(ModelParallel, RunsAfterNodesOfOtherDevices) {
  const auto x = placeholder(*graph, "x", DType::float32, {1});
  Output checked, after;
  {
    const DeviceScope second(*graph, "/cpu:1");
    checked = graph->add("test_fail", {x}).output(0);
  }
  const auto w = variable(*graph, "w", {1}, init::zeros());
  {
    const ControlScope control(*graph, {checked});
    after = assign_add(w, ones_like(w));
  }
  Session session(graph, on_devices(cpu_devices(2)));
  session.initialize();
  EXPECT_EQ(session.run(after, {{x, Tensor::of<float>({1}, {1})}}).item(), 1);
  EXPECT_EQ(message_of([&] {
              session.run(after, {{x, Tensor::of<float>({1}, {-1})}});
            }),
            "/device:CPU:1: node 'test_fail' (test_fail): told to fail");
  EXPECT_EQ(session.variable("w").item(), 1);
}

TEST_F(ModelParallel, TakesRunsFromSeveralThreadsOfWhichSomeFail) {
  const auto x = placeholder(*graph, "x", DType::float32, {1});
  Output y;
  {
    const DeviceScope second(*graph, "/cpu:1");
    y = graph->add("test_fail", {x * 2.0}).output(0);
  }
  const DeviceScope first(*graph, "/cpu:0");
  const auto z = y + x;
  Session session(graph, on_devices(cpu_devices(2)));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 1; i <= 50; ++i) {
        const bool fails = (i + t) % 5 == 0;
        const auto value = float(fails ? -i : i);
        const auto fed = Tensor::of<float>({1}, {value});
        if (fails)
          EXPECT_THAT(message_of([&] { session.run(z, {{x, fed}}); }), HasSubstr("/device:CPU:1"));
        else
          EXPECT_EQ(session.run(z, {{x, fed}}).item(), 3 * value);
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST_F(ModelParallel, WorksInOneProcessOnDevicesThatAreCalledByACluster) {
  const DeviceScope scope(*graph, replica_device_setter({.ps_tasks = 2}));
  const auto w = variable(*graph, "w", {2}, init::constant(1));
  const auto b = variable(*graph, "b", {2}, init::constant(2));
  const auto y = w * b;
  const auto update = assign_add(w, y);
  Session session(graph, on_devices({"/job:worker/task:0/cpu:0", "/job:ps/task:0/cpu:0",
                                     "/job:ps/task:1/cpu:0"}));
  session.initialize();
  session.run({}, {}, {update});
  EXPECT_THAT(session.variable("w").read<float>(), ElementsAre(3, 3));
  EXPECT_EQ(device_of(session, w), "/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(device_of(session, b), "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_EQ(device_of(session, y), "/job:worker/replica:0/task:0/device:CPU:0");
  EXPECT_EQ(device_of(session, update), device_of(session, w));
}

TEST_F(ModelParallel, LetsTwoGraphsShareWeightsByName) {
  // Between-graph replication: each worker builds a graph of its own.
  const auto build = [](int worker) {
    const auto own = std::make_shared<Graph>();
    const DeviceScope scope(
        *own,
        replica_device_setter({.ps_tasks = 1, .worker_device = text("/job:worker/task:", worker)}));
    const auto w = variable(*own, "w", {}, init::constant(1));
    named("step", assign_add(w, w * double(worker + 1)));
    return own;
  };
  const std::vector<std::string> cluster{"/job:ps/cpu:0", "/job:worker/task:0/cpu:0",
                                         "/job:worker/task:1/cpu:0"};
  Session first(build(0), on_devices(cluster)), second(build(1), on_devices(cluster));
  first.initialize();
  first.run({"step"});
  second.restore(first.variables());
  second.run({"step"});
  EXPECT_EQ(second.variable("w").item(), 6);
}

TEST_F(ModelParallel, RefusesAtTheFirstRunWhatItCannotPlace) {
  const auto x = placeholder(*graph, "x", DType::float32, {1});
  {
    const DeviceScope third(*graph, "/cpu:2");
    identity(x);
  }
  const auto y = x * 2.0;
  Session session(graph, on_devices(cpu_devices(2)));
  EXPECT_THAT(message_of([&] {
                session.run(y, {{x, Tensor::of<float>({1}, {1})}});
              }),
              HasSubstr("Cannot assign a device for operation identity: 'identity' was explicitly "
                        "assigned to /device:CPU:2 but available devices are ["))
      << "also for nodes that this run does not need";
  EXPECT_EQ(message_of([&] { Session(graph, on_devices({})); }),
            "a session needs at least 1 device");
  EXPECT_EQ(message_of([&] { Session(graph, on_devices({"/gpu:0"})); }),
            "a session can make CPU devices only, but was asked for /gpu:0");
}

TEST_F(ModelParallel, TakesAnotherDeviceInSoftPlacement) {
  const auto x = placeholder(*graph, "x", DType::float32, {1});
  const DeviceScope gpu(*graph, "/gpu:0");
  const auto y = x * 2.0;
  auto options = on_devices(cpu_devices(1));
  options.soft_placement = true;
  Session session(graph, options);
  EXPECT_EQ(session.run(y, {{x, Tensor::of<float>({1}, {3})}}).item(), 6);
}

TEST_F(ModelParallel, LogsThePlacementOnceIfAsked) {
  const auto x = placeholder(*graph, "x", DType::float32, {1});
  Output y;
  {
    const DeviceScope second(*graph, "/cpu:1");
    y = tanh(x);
  }
  auto options = on_devices(cpu_devices(2));
  options.log_device_placement = true;
  Session session(graph, options);
  testing::internal::CaptureStderr();
  session.run(y, {{x, Tensor::of<float>({1}, {3})}});
  session.run({x}, {{x, Tensor::of<float>({1}, {3})}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "x: (placeholder): /job:localhost/replica:0/task:0/device:CPU:1\n"
            "tanh: (tanh): /job:localhost/replica:0/task:0/device:CPU:1\n");
  EXPECT_EQ(session.placement().choices[0].why, "next to 'tanh', which reads it");
}

TEST_F(ModelParallel, GivesEachDeviceThreadsOfItsOwn) {
  auto options = on_devices(cpu_devices(1));
  options.threads = {1, 1};
  int with_one = 0;
  {
    const Session session(graph, options);
    with_one = test::thread_count();
  }
  options.threads.intra_op = 3;
  options.devices = cpu_devices(2);
  const Session session(graph, options);
  EXPECT_EQ(test::thread_count_after_the_end(with_one + 4), with_one + 4)
      << "two more for each device";
}

}  // namespace
}  // namespace troupe
