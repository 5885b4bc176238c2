// What an edge between two devices of one process costs: a chain of small ops that goes
// to and fro between two devices at every node, and the same chain on one device. Asked
// for by an actor, one run after the other.
#include <benchmark/benchmark.h>

#include <caf/all.hpp>

#include "asking_client.h"
#include "troupe/devices/cpu_device.h"
#include "troupe/devices/device_group.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/device_scope.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

constexpr int kNodes = 17;
constexpr std::int64_t kRuns = 100;

FragmentSpec chain(std::int64_t elements, int devices) {
  const auto graph = std::make_shared<Graph>();
  auto value = placeholder(*graph, "x", DType::float32, {elements});
  for (int i = 0; i < kNodes; ++i) {
    const DeviceScope device(*graph, text("/cpu:", i % devices));
    value = graph->add("tanh", {value}).output(0);
  }
  const auto last = named("last", value);
  graph->finish();
  return {graph, {"x"}, {last.name()}, {}, {}};
}

void device_edges(benchmark::State& state) {
  const auto devices = static_cast<int>(state.range(0));
  const auto elements = state.range(1) / 4;
  const auto workers = static_cast<int>(state.range(2));
  SystemConfig config({workers, 1});
  caf::actor_system system(config);
  DeviceGroupOptions options;
  for (const auto& name : cpu_devices(2))
    options.members.push_back({name, system.spawn(cpu_device, CpuDeviceOptions{name, 1, workers})});
  const Device group = system.spawn(device_group, options);
  caf::scoped_actor self{system};
  FragmentId id = 0;
  self->request(group, caf::infinite, load_atom_v, chain(elements, devices))
      .receive([&](FragmentId got) { id = got; }, [](const caf::error&) { std::abort(); });
  const auto actor =
      system.spawn(asking_client, group, id, TensorList{Tensor(DType::float32, {elements})});
  for (auto _ : state)
    self->request(actor, caf::infinite, kRuns)
        .receive([](std::int64_t) {}, [](const caf::error&) { std::abort(); });
  state.SetItemsProcessed(state.iterations() * kRuns);
  state.counters["edges"] = devices == 1 ? 0 : kNodes - 1;
  self->send_exit(actor, caf::exit_reason::user_shutdown);
  self->send_exit(group, caf::exit_reason::user_shutdown);
  for (const auto& member : options.members)
    self->send_exit(member.device, caf::exit_reason::user_shutdown);
}
BENCHMARK(device_edges)
    ->ArgNames({"devices", "bytes", "workers"})
    ->ArgsProduct({{1, 2}, {4, 1 << 20}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
