// One step of a tiny model (10-10-1, tanh, squared error, batch 1): forward,
// backward, all gradients fetched. Through the executor alone, from an actor
// through the device actor, and from plain code through a Session.
#include <benchmark/benchmark.h>

#include <caf/all.hpp>

#include "asking_client.h"
#include "troupe/devices/cpu_device.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

struct TinyModel {
  TinyModel() {
    const auto input = [&](const std::string& name, const Shape& shape) {
      spec.feeds.push_back(name);
      feeds.push_back(Tensor::filled(DType::float32, shape, 0.1));
      return placeholder(*graph, name, DType::float32, shape);
    };
    const auto x = input("x", {1, 10});
    const auto target = input("target", {1, 1});
    const OutputList weights{input("w1", {10, 10}), input("b1", {10}), input("w2", {10, 1}),
                             input("b2", {1})};
    const auto hidden = tanh(bias_add(matmul(x, weights[0]), weights[1]));
    const auto y = bias_add(matmul(hidden, weights[2]), weights[3]);
    const auto loss = reduce_mean(square(y - target));
    spec.fetches.push_back(loss.name());
    for (const auto& gradient : gradients(loss, weights))
      spec.fetches.push_back(gradient.dense().name());
    graph->finish();
    spec.graph = graph;
  }

  GraphPtr graph = std::make_shared<Graph>();
  FragmentSpec spec;
  TensorList feeds;
};

void executor(benchmark::State& state) {
  TinyModel model;
  Fragment fragment(model.spec, {}, {std::shared_ptr<void>(), &serial()}, "/device:CPU:0");
  const auto stream = [](std::uint32_t, const Tensor&) {};
  const auto invite = [] {};
  TensorList results;
  for (auto _ : state) {
    const auto executor = fragment.acquire(model.feeds);
    executor->begin(model.feeds, 0);
    executor->lead({stream, invite});
    executor->finish(results);
    fragment.release(executor);
  }
}
BENCHMARK(executor);

void device_actor(benchmark::State& state) {
  TinyModel model;
  const auto inter_op = static_cast<int>(state.range(0));
  SystemConfig config({inter_op, 1});
  caf::actor_system system(config);
  const Device device = system.spawn(cpu_device, CpuDeviceOptions{"/device:CPU:0", 1, inter_op});
  caf::scoped_actor self{system};
  FragmentId id = 0;
  self->request(device, caf::infinite, load_atom_v, model.spec)
      .receive([&](FragmentId got) { id = got; }, [](const caf::error&) { std::abort(); });
  const auto actor = system.spawn(asking_client, device, id, model.feeds);
  constexpr std::int64_t kSteps = 1000;
  for (auto _ : state)
    self->request(actor, caf::infinite, kSteps)
        .receive([](std::int64_t) {}, [](const caf::error&) { std::abort(); });
  state.SetItemsProcessed(state.iterations() * kSteps);
  self->send_exit(actor, caf::exit_reason::user_shutdown);
  self->send_exit(device, caf::exit_reason::user_shutdown);
}
BENCHMARK(device_actor)->ArgName("inter_op")->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
