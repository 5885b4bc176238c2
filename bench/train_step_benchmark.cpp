// One training step (forward, backward, update) of the four models that
// bench/peers measures too, through everything that a training run uses: replica,
// device actor, parameter shard. The batch is always the same one.
//
//   train_step_benchmark [--threads 2] [--shards 1] [--steps 30] [--model NAME]
//
// Prints the median time of a step in milliseconds, and the fastest and slowest.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "replica_company.h"
#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/actors/parameters/placement.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/actors/training/replica.h"
#include "troupe/devices/cpu_device.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/models.h"
#include "troupe/ops/random.h"
#include "troupe/ops/state.h"

namespace {

using namespace troupe;
using Clock = std::chrono::steady_clock;

struct Workload {
  std::string name;
  std::int64_t batch;
  Shape features;
  bool classes;
};

const std::vector<Workload> kWorkloads{{"headline", 1000, {20, 195, 1}, false},
                                       {"lenet", 100, {28, 28, 1}, true},
                                       {"cifar", 128, {24, 24, 3}, true},
                                       {"mlp", 256, {784}, true}};

Model build(const Workload& w) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, w.features.with_first(-1));
  const auto y = w.classes ? placeholder(*m.graph, "y", DType::int64, {-1})
                           : placeholder(*m.graph, "y", DType::float32, {-1, 15});
  m.inputs = {x, y};
  if (w.name == "headline")
    m.loss = nn::total_loss(nn::root_mean_squared_error(nn::headline_cnn(x, true), y));
  else if (w.name == "lenet")
    m.loss = nn::cross_entropy(nn::lenet(x, true), y);
  else if (w.name == "cifar")
    m.loss = nn::cross_entropy(nn::cifar10_cnn(x), y);
  else
    m.loss = nn::cross_entropy(nn::mlp(x), y);
  return m;
}

Batch make_batch(const Workload& w) {
  RandomStream random(7);
  Tensor x(DType::float32, w.features.with_first(w.batch));
  for (auto& value : x.write<float>()) value = static_cast<float>(random.normal());
  Tensor y(w.classes ? DType::int64 : DType::float32,
           w.classes ? Shape{w.batch} : Shape{w.batch, 15});
  if (w.classes)
    for (auto& value : y.write<std::int64_t>()) value = static_cast<std::int64_t>(random.below(10));
  else
    for (auto& value : y.write<float>()) value = static_cast<float>(random.uniform());
  return {0, {x, y}};
}

TrainingListener::behavior_type clock_listener(
    TrainingListener::pointer, std::shared_ptr<std::vector<Clock::time_point>> times) {
  return {[times](report_atom, const StepReport&) { times->push_back(Clock::now()); },
          [](report_atom, const SavedCheckpoint&) {}, [](report_atom, const TrainingEvent&) {}};
}

void measure(const Workload& w, int threads, int shard_count, int steps) {
  Troupe troupe(ThreadBudget{threads, threads});
  CpuDeviceOptions device;
  device.intra_op = threads;
  device.inter_op = 1;
  const auto model = build(w);
  const auto variables = model.graph->variables();
  const auto shard_of = place_variables(variables, static_cast<std::uint32_t>(shard_count),
                                        VariablePlacement::by_bytes);
  std::vector<ShardOptions> shards(shard_count);
  for (std::size_t i = 0; i < variables.size(); ++i)
    shards[shard_of[i]].variables.push_back(
        {variables[i].name(), initial_value(variables[i], 1), variables[i].trainable()});
  ReplicaOptions r;
  r.fragment = training_fragment(model, false);
  r.batches = troupe.spawn("batches", same_batch, make_batch(w));
  r.device = troupe.spawn("device", cpu_device, device);
  constexpr int kWarmUp = 5;
  CoordinatorOptions c;
  c.shards = static_cast<std::uint32_t>(shard_count);
  c.max_steps = static_cast<std::uint64_t>(steps + kWarmUp);
  const auto rounds = troupe.spawn("coordinator", coordinator, c);
  for (int i = 0; i < shard_count; ++i) {
    shards[i].coordinator = rounds;
    shards[i].index = static_cast<std::uint32_t>(i);
    shards[i].optimizer = optim::momentum(0.8);
    shards[i].schedule = 0.01;
    r.shards.push_back(troupe.spawn("shard", parameter_shard, shards[i], SnapshotSink()));
  }
  const auto times = std::make_shared<std::vector<Clock::time_point>>();
  times->reserve(steps + 16);
  r.listener = troupe.spawn("listener", clock_listener, times);
  const auto trainer = troupe.spawn("replica", replica, r);
  troupe.ask<std::uint64_t>(trainer, std::chrono::minutes(10), start_atom_v);
  troupe.stop(std::chrono::seconds(10));

  std::vector<double> ms;
  for (std::size_t i = kWarmUp; i < times->size(); ++i)
    ms.push_back(std::chrono::duration<double, std::milli>((*times)[i] - (*times)[i - 1]).count());
  std::sort(ms.begin(), ms.end());
  std::printf("%-9s batch %4ld  %d threads, %d shards: median %8.3f ms  [%.3f %.3f]\n",
              w.name.c_str(), static_cast<long>(w.batch), threads, shard_count, ms[ms.size() / 2],
              ms.front(), ms.back());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Time of a training step of four models"};
  int threads = 2, shards = 1, steps = 30;
  std::string model;
  app.add_option("--threads", threads, "Threads of the device");
  app.add_option("--shards", shards, "Parameter shards");
  app.add_option("--steps", steps, "Steps that are measured");
  app.add_option("--model", model, "headline, lenet, cifar or mlp; all by default");
  CLI11_PARSE(app, argc, argv);
  for (const auto& workload : kWorkloads)
    if (model.empty() || model == workload.name) measure(workload, threads, shards, steps);
}
