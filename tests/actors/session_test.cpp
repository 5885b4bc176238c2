#include "troupe/actors/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <caf/all.hpp>
#include <thread>

#include "support/check_gradient.h"
#include "support/fragment_runs.h"
#include "support/test_ops.h"
#include "troupe/devices/cpu_device.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/random_ops.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

class SessionTest : public testing::Test {
 protected:
  SessionTest() { test::TestOps::add(); }

  Output input(const std::string& name, const Shape& shape) {
    return placeholder(*graph, name, DType::float32, shape);
  }

  GraphPtr graph = std::make_shared<Graph>();
  const SessionOptions two{.threads = {2, 1}, .seed = 7, .timeout = kForever};
  const Tensor one_two = Tensor::of<float>({2}, {1, 2});
};

TEST_F(SessionTest, ComputesWhatIsFetchedFromWhatIsFed) {
  const auto x = input("x", {-1});
  const auto y = named("y", x * 2.0);
  Session session(graph, two);
  const auto out = session.run({y, x}, {{x, one_two}});
  EXPECT_THAT(out[0].read<float>(), ElementsAre(2, 4));
  EXPECT_EQ(out[1].data(), one_two.data()) << "fed and fetched without a copy";
}

TEST_F(SessionTest, GoesByNameToo) {
  const auto x = input("x", {-1});
  named("y", x * 2.0);
  Session session(graph, two);
  EXPECT_THAT(session.run({"y"}, {{"x", one_two}})[0].read<float>(), ElementsAre(2, 4));
  EXPECT_THAT(message_of([&] { session.run({"yy"}); }), HasSubstr("no node 'yy'"));
}

TEST_F(SessionTest, SaysWhichPlaceholderIsMissing) {
  const auto x = input("x", {-1, 4});
  const auto loss = named("loss", reduce_sum(x));
  Session session(graph, two);
  EXPECT_EQ(message_of([&] { session.run(loss); }),
            "placeholder 'x' (float32 [?, 4]) is not fed, but 'loss' needs it");
  EXPECT_EQ(message_of([&] {
              session.run(loss, {{x, one_two}});
            }),
            "placeholder 'x' takes float32 [?, 4], but was fed float32 [2]");
}

TEST_F(SessionTest, FinishesTheGraphAtTheFirstRun) {
  const auto x = input("x", {-1});
  Session session(graph, two);
  const auto y = x * 2.0;
  session.run(y, {{x, one_two}});
  EXPECT_TRUE(graph->finished());
  EXPECT_THROW(x * 3.0, Error);
}

TEST_F(SessionTest, WantsVariablesToHaveAValue) {
  const auto w = variable(*graph, "w", {2}, init::constant(3));
  Session session(graph, two);
  const std::string missing = "variable 'w' is not initialized; call Session::initialize()";
  EXPECT_EQ(message_of([&] { session.run(w); }), missing);
  EXPECT_EQ(message_of([&] { session.variable("w"); }), missing);
  session.initialize();
  EXPECT_THAT(session.run(w).read<float>(), ElementsAre(3, 3));
}

TEST_F(SessionTest, KeepsWhatRunsAssign) {
  const auto w = variable(*graph, "w", {2}, init::zeros());
  const auto count = variable(*graph, "count", {}, init::zeros(), {.dtype = DType::int64});
  const auto x = input("x", {2});
  const auto step = group(*graph, {assign_add(w, x), assign_add(count, ones_like(count))});
  Session session(graph, two);
  session.initialize();
  for (int i = 0; i < 3; ++i) session.run({}, {{x, one_two}}, {step});
  EXPECT_THAT(session.variable("w").read<float>(), ElementsAre(3, 6));
  EXPECT_EQ(session.variable("count").item(), 3);
}

TEST_F(SessionTest, ReadsVariablesAsTheyWereWhenTheRunBegan) {
  const auto w = variable(*graph, "w", {}, init::constant(1));
  const auto doubled = assign(w, w * 2.0);
  const auto seen = named("seen", w + 0.0);
  Session session(graph, two);
  session.initialize();
  const auto out = session.run({doubled, seen, w});
  EXPECT_EQ(out[0].item(), 2);
  EXPECT_EQ(out[1].item(), 1);
  EXPECT_EQ(out[2].item(), 1);
  EXPECT_EQ(session.run(w).item(), 2);
}

TEST_F(SessionTest, AssignsNothingWhenTheRunFails) {
  const auto w = variable(*graph, "w", {1}, init::zeros());
  const auto x = input("x", {1});
  const auto update = assign_add(w, x);
  const auto check = graph->add("test_fail", {update}).output(0);
  Session session(graph, two);
  session.initialize();
  EXPECT_EQ(message_of([&] {
              session.run(check, {{x, Tensor::of<float>({1}, {-5})}});
            }),
            "/device:CPU:0: node 'test_fail' (test_fail): told to fail");
  EXPECT_EQ(session.variable("w").item(), 0);
  session.run(check, {{x, Tensor::of<float>({1}, {5})}});
  EXPECT_EQ(session.variable("w").item(), 5);
}

TEST_F(SessionTest, RefusesToAssignAVariableTwiceInOneRun) {
  const auto w = variable(*graph, "w", {}, init::zeros());
  const auto a = assign(w, w + 1.0);
  const auto b = assign_add(w, w);
  Session session(graph, two);
  session.initialize();
  EXPECT_THAT(
      message_of([&] {
        session.run({a, b});
      }),
      HasSubstr("variable 'w' is assigned twice in one run, by 'assign' and by 'assign_add'"));
}

TEST_F(SessionTest, LetsAVariableBeFed) {
  const auto w = variable(*graph, "w", {2}, init::zeros());
  const auto y = w * 2.0;
  Session session(graph, two);
  EXPECT_THAT(session.run(y, {{w, one_two}}).read<float>(), ElementsAre(2, 4));
}

TEST_F(SessionTest, SetsAndRestoresVariables) {
  variable(*graph, "a", {2}, init::zeros());
  variable(*graph, "b", {}, init::zeros());
  Session session(graph, two);
  session.set_variable("a", one_two);
  EXPECT_EQ(message_of([&] { session.set_variable("b", one_two); }),
            "variable 'b' is float32 [], but the value is float32 [2]");
  EXPECT_EQ(message_of([&] { session.set_variable("c", one_two); }),
            "the graph has no variable 'c'");
  EXPECT_EQ(message_of([&] {
              session.restore({{"b", Tensor::scalar(1.f)}});
            }),
            "there is no value for variable 'a' (float32 [2])");
  EXPECT_EQ(session.variables().size(), 1u) << "nothing was restored";
  session.restore({{"a", one_two}, {"b", Tensor::scalar(2.f)}, {"slot", Tensor()}});
  EXPECT_EQ(session.variable("b").item(), 2);
}

TEST_F(SessionTest, TakesCallsFromSeveralThreads) {
  const auto x = input("x", {});
  const auto total = variable(*graph, "total", {}, init::zeros());
  const auto add = assign_add(total, x);
  const auto square_of_x = square(x);
  Session session(graph, two);
  session.initialize();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto value = Tensor::scalar(float(i));
        EXPECT_EQ(session.run(square_of_x, {{x, value}}).item(), i * i);
        session.run(add, {{x, value}});
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(session.variable("total").item(), 4 * 50 * 49 / 2);
}

TEST_F(SessionTest, RunsIndependentHeavyBranchesAtTheSameTime) {
  const auto x = input("x", {1});
  const Attributes both{{"count", 2}};
  const auto a = graph->add("test_meet", {x}, both, "a").output(0);
  const auto b = graph->add("test_meet", {x + 1.0}, both, "b").output(0);
  const auto sum = a + b;
  Session session(graph, two);
  test::meeting().reset();
  EXPECT_EQ(session.run(sum, {{x, Tensor::of<float>({1}, {1})}}).item(), 3);
}

TEST_F(SessionTest, GivesUpAfterItsTimeout) {
  const auto x = input("x", {1});
  const auto never = graph->add("test_meet", {x}, Attributes{{"count", 2}}).output(0);
  auto options = two;
  options.timeout = Timeout{20};
  {
    Session session(graph, options);
    test::meeting().reset();
    EXPECT_THAT(message_of([&] {
                  session.run(never, {{x, Tensor::of<float>({1}, {1})}});
                }),
                HasSubstr("has not answered within 20 ms"));
    test::meeting().attend(2);  // lets the kernel end
  }
}

TEST_F(SessionTest, DrawsOtherNumbersInEveryRunAndTheSameWithTheSameSeed) {
  const auto r = random_uniform(*graph, {4}, 0, 1);
  const auto draw = [&](std::uint64_t seed) {
    auto options = two;
    options.seed = seed;
    Session session(graph, options);
    return TensorList{session.run(r), session.run(r)};
  };
  const auto first = draw(1);
  const auto again = draw(1);
  EXPECT_FALSE(same_bits(first[0], first[1]));
  EXPECT_TRUE(same_bits(first[0], again[0]));
  EXPECT_TRUE(same_bits(first[1], again[1]));
  EXPECT_FALSE(same_bits(first[0], draw(2)[0]));
}

TEST_F(SessionTest, UsesADeviceThatIsThereAlready) {
  const auto x = input("x", {});
  const auto y = x + 1.0;
  SystemConfig config({1, 1});
  caf::actor_system system(config);
  const Device device = system.spawn(cpu_device, CpuDeviceOptions{"/device:CPU:3", 1, 1});
  {
    Session one(graph, system, device), other(graph, system, device);
    EXPECT_EQ(one.run(y, {{x, Tensor::scalar(1.f)}}).item(), 2);
    EXPECT_EQ(other.run(y, {{x, Tensor::scalar(2.f)}}).item(), 3);
  }
  caf::scoped_actor self(system);
  DeviceStatus status;
  self->request(device, caf::infinite, status_atom_v)
      .receive([&](const DeviceStatus& s) { status = s; }, [](const caf::error&) { FAIL(); });
  EXPECT_EQ(status.fragments, 0u) << "unloaded with their sessions";
  EXPECT_EQ(status.runs, 2u);
  Session late(graph, system, device);
  self->send_exit(device, caf::exit_reason::user_shutdown);
  self->wait_for(device);
  EXPECT_THAT(message_of([&] {
                late.run(y, {{x, Tensor::scalar(1.f)}});
              }),
              HasSubstr("session: the device is gone"));
}

TEST_F(SessionTest, TrainsALinearModel) {
  const auto x = input("x", {-1, 2});
  const auto target = input("target", {-1, 1});
  const auto w = variable(*graph, "w", {2, 1}, init::normal(0, 1));
  const auto b = variable(*graph, "b", {}, init::zeros());
  const auto loss = reduce_mean(square(matmul(x, w) + b - target));
  const auto gradient = gradients(loss, {w, b});
  const auto step = group(
      *graph, {assign_sub(w, gradient[0].dense() * 0.1), assign_sub(b, gradient[1].dense() * 0.1)});
  Session session(graph, two);
  session.initialize();
  const auto features = test::random_values({64, 2}, 1, 0, 1, DType::float32);
  auto values = Tensor(DType::float32, {64, 1});
  for (int i = 0; i < 64; ++i)
    values.write<float>()[i] =
        static_cast<float>(3 * features.at(2 * i) - 2 * features.at(2 * i + 1) + 0.5);
  double last = 0;
  for (int i = 0; i < 200; ++i)
    last = session.run({loss}, {{x, features}, {target, values}}, {step})[0].item();
  EXPECT_LT(last, 1e-6);
  EXPECT_NEAR(session.variable("w").at(0), 3, 1e-3);
  EXPECT_NEAR(session.variable("w").at(1), -2, 1e-3);
  EXPECT_NEAR(session.variable("b").item(), 0.5, 1e-3);
}

}  // namespace
}  // namespace troupe
