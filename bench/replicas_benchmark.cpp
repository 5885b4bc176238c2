// What it costs that two replicas agree on every step, and what the second one brings.
//
//   replicas_benchmark                     # all networks
//   replicas_benchmark --network scalar --steps 20000
//
// Overhead: two replicas of one synchronous run, against two runs of one replica each that
// go on side by side in the same process and know nothing of one another. Both compute,
// push and pull the same; the two runs even make an update each where the one makes one.
// Scaling: examples a second of two replicas with a batch each, against one replica. All-reduce:
// overhead of the same two replicas with a shard each and a ring.
//
// A device computes with one thread for each replica; shards share two for large updates, as in
// a run with two threads for its actors. Batches are in memory. Settings take
// turns; a ratio is of one turn, and the median of the turns is told.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <caf/all.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "median.h"
#include "replica_company.h"
#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/allreduce/reducer.h"
#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/actors/training/replica.h"
#include "troupe/actors/training/shard_threads.h"
#include "troupe/devices/cpu_device.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/models.h"
#include "troupe/ops/random.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;

struct Network {
  std::string name;
  std::function<Model()> model;
  std::function<Batch()> batch;  ///< of one replica
  std::uint64_t steps = 0;
};

Model classifier(const Shape& image, const std::function<Output(Output)>& layers) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, image);
  const auto y = placeholder(*m.graph, "y", DType::int64, {-1});
  m.inputs = {x, y};
  m.loss = nn::total_loss(nn::cross_entropy(layers(x), y));
  return m;
}

Batch noise(std::int64_t rows, const Shape& image, std::int64_t classes) {
  RandomStream random(1);
  Tensor x(DType::float32, image.without_first().with_first(rows));
  Tensor y(DType::int64, {rows});
  for (auto& value : x.write<float>()) value = static_cast<float>(random.normal());
  auto labels = y.write<std::int64_t>();
  for (std::int64_t i = 0; i < rows; ++i) labels[static_cast<std::size_t>(i)] = i % classes;
  return {0, {x, y}};
}

Model scalar_model() {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 1});
  const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
  m.inputs = {x, y};
  m.loss = nn::mean_squared_error(nn::dense(x, 1, {.name = "line", .use_bias = false}), y);
  return m;
}

Batch line_batch() {
  return {0, {Tensor::of<float>({1, 1}, {1}), Tensor::of<float>({1, 1}, {0.5F})}};
}

/// Seconds from the start of all replicas to the end of the last one.
double time_to_end(Troupe& troupe, const std::vector<Replica>& replicas) {
  caf::scoped_actor self{troupe.system()};
  const auto start = [&](const Replica& replica) {
    return self->request(replica, caf::infinite, start_atom_v);
  };
  const auto begun = Clock::now();
  std::vector<decltype(start(replicas.front()))> ends;
  for (const auto& replica : replicas) ends.push_back(start(replica));
  for (auto& end : ends)
    end.receive([](std::uint64_t) {}, [](const caf::error& error) { throw to_error(error); });
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

/// A shard for each replica of a ring, or one for all.
std::vector<Shard> spawn_shards(Troupe& troupe, ShardOptions s, std::uint32_t ring,
                                const std::vector<StreamedPart>& parts) {
  std::vector<Reducer> reducers;
  for (std::uint32_t i = 0; i < ring; ++i)
    reducers.push_back(troupe.spawn("reducer", reducer, ReducerOptions{AllReduce::ring, "ring"}));
  const std::vector<ReductionPort> ports(reducers.begin(), reducers.end());
  for (const auto& one : reducers)
    troupe.ask<caf::ok_atom>(one, std::chrono::seconds(10), join_atom_v, ports);
  if (ring > 0)
    for (const auto& part : parts) s.parts.push_back({part.variable, part.kind});
  std::vector<Shard> shards;
  for (s.index = 0; s.index < std::max(ring, 1U); ++s.index) {
    if (ring > 0) s.reducer = reducers[s.index];
    shards.push_back(troupe.spawn("shard", parameter_shard, s, SnapshotSink()));
  }
  return shards;
}

/// Seconds that so many runs side by side take, of so many replicas each.
double seconds(const Network& network, std::uint32_t runs, std::uint32_t replicas,
               bool ring = false) {
  Troupe troupe(ThreadBudget{2, 1});
  CpuDeviceOptions device_options;
  device_options.intra_op = 1;
  device_options.inter_op = static_cast<int>(runs * replicas);
  const auto device = troupe.spawn("device", cpu_device, device_options);
  std::vector<Replica> all;
  for (std::uint32_t run = 0; run < runs; ++run) {
    const auto model = network.model();
    CoordinatorOptions c;
    c.replicas = replicas;
    c.max_steps = network.steps;
    c.all_reduce = ring;
    c.shards = ring ? replicas : 1;
    c.listener = troupe.spawn("listener", nobody);
    const auto rounds = troupe.spawn("coordinator", coordinator, c);
    ShardOptions s;
    for (const auto& variable : model.graph->variables())
      s.variables.push_back({variable.name(), initial_value(variable, 1), variable.trainable()});
    s.optimizer = optim::sgd();
    s.schedule = 1e-4;
    s.threads = shard_threads(std::vector(c.shards, s.variables), {2, 1});
    s.coordinator = rounds;
    ReplicaOptions r;
    r.fragment = training_fragment(model, false);
    r.device = device;
    const auto shards = spawn_shards(troupe, s, ring ? replicas : 0, r.fragment.parts);
    r.listener = c.listener;
    r.optimizer = s.optimizer;
    r.learning_rate = s.schedule;
    for (std::uint32_t i = 0; i < replicas; ++i) {
      r.index = i;
      r.shards = {shards[ring ? i : 0]};
      r.batches = troupe.spawn("batches", same_batch, network.batch());
      all.push_back(troupe.spawn("replica", replica, r));
    }
  }
  const auto time = time_to_end(troupe, all);
  troupe.stop(std::chrono::seconds(10));
  return time;
}

void tell(const Network& network, int turns) {
  std::vector<double> apart, together, overhead, scaling, extra, ring;
  for (int turn = 0; turn < turns; ++turn) {
    const auto steps = static_cast<double>(network.steps);
    const auto one = 1e6 * seconds(network, 1, 1) / steps;
    const auto two_apart = 1e6 * seconds(network, 2, 1) / steps;
    const auto two_together = 1e6 * seconds(network, 1, 2) / steps;
    const auto reduced = 1e6 * seconds(network, 1, 2, true) / steps;
    ring.push_back(100 * (reduced / two_apart - 1));
    apart.push_back(two_apart);
    together.push_back(two_together);
    overhead.push_back(100 * (two_together / two_apart - 1));
    extra.push_back(two_together - two_apart);
    scaling.push_back(2 * one / two_together);
  }
  const auto [least, most] = std::minmax_element(scaling.begin(), scaling.end());
  std::printf("%-8s %11.1f %11.1f %9.1f %8.1f %8.1f %9.2f  [%.2f %.2f]\n", network.name.c_str(),
              median(apart), median(together), median(extra), median(overhead), median(ring),
              median(scaling), *least, *most);
  std::fflush(stdout);
}

std::vector<Network> networks(std::int64_t rows) {
  const Shape small{-1, 28, 28, 1}, coloured{-1, 24, 24, 3};
  return {{"scalar", scalar_model, line_batch, 20000},
          {"lenet", [=] { return classifier(small, [](Output x) { return nn::lenet(x, true); }); },
           [=] { return noise(rows, small, 10); }, 30},
          {"cifar10", [=] { return classifier(coloured, nn::cifar10_cnn); },
           [=] { return noise(rows, coloured, 10); }, 30}};
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) {
  CLI::App app{"What synchronous replicas cost and bring"};
  std::vector<std::string> chosen;
  std::uint64_t steps = 0;
  std::int64_t rows = 64;
  int turns = 5;
  app.add_option("--network", chosen, "Of scalar, lenet and cifar10; all without it");
  app.add_option("--steps", steps, "Steps of a run; by the network without it");
  app.add_option("--rows", rows, "Examples in the batch of a replica");
  app.add_option("--turns", turns, "Of which the median is told")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  std::printf("%-8s %11s %11s %9s %8s %8s %9s\n", "network", "apart, us", "sync, us", "more, us",
              "more, %", "ring, %", "scaling");
  for (auto network : troupe::networks(rows)) {
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), network.name) == chosen.end())
      continue;
    if (steps > 0) network.steps = steps;
    troupe::tell(network, turns);
  }
}
