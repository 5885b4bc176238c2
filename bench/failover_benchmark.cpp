// A shard with a copy is killed in the middle of training, again and again: how long the step
// takes in which that happens, against the others, and whether the weights are those of a run
// in which nobody died.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <cstdio>
#include <memory>
#include <vector>

#include "median.h"
#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/parameters/shard_keeper.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/actors/training/replica.h"
#include "troupe/devices/cpu_device.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/random.h"
#include "troupe/ops/state.h"

using namespace troupe;

namespace {

using Clock = std::chrono::steady_clock;

Model network() {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 256});
  const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 8});
  auto hidden = nn::dense(x, 512, {.name = "first", .activation = relu});
  hidden = nn::dense(hidden, 512, {.name = "second", .activation = relu});
  m.inputs = {x, y};
  m.loss = nn::mean_squared_error(nn::dense(hidden, 8, {.name = "last"}), y);
  return m;
}

Batch random_batch(std::uint64_t number) {
  RandomStream random(number + 1);
  Tensor x(DType::float32, {64, 256}), y(DType::float32, {64, 8});
  for (auto& value : x.write<float>()) value = static_cast<float>(random.normal());
  for (auto& value : y.write<float>()) value = static_cast<float>(random.normal());
  return {number, {x, y}};
}

BatchSource::behavior_type batches(BatchSource::pointer, std::shared_ptr<std::uint64_t> next) {
  return {[next](next_atom, std::uint32_t) { return random_batch((*next)++); },
          [](assign_atom, bool) {}, [](status_atom) { return StageStatus{}; }};
}

struct Seen {
  std::vector<double> steps;  ///< milliseconds from one step to the next
  std::vector<bool> died;     ///< somebody, in that step
  std::vector<std::string> events;
  Clock::time_point last = Clock::now();
};

/// Hears of steps, and kills shard 0 every so many of them.
TrainingListener::behavior_type killer(TrainingListener::pointer self, std::shared_ptr<Seen> seen,
                                       std::uint64_t every, std::shared_ptr<ShardKeeper> keeper,
                                       Shard first) {
  const auto victim = std::make_shared<Shard>(first);
  return {
      [=](report_atom, const StepReport& report) {
        const auto now = Clock::now();
        seen->steps.push_back(std::chrono::duration<double, std::milli>(now - seen->last).count());
        seen->died.push_back(every > 0 && report.step > every && report.step % every == 1);
        seen->last = now;
        if (every == 0 || report.step % every != 0) return;
        const auto dead = victim->address();
        self->send_exit(*victim, caf::exit_reason::kill);
        self->request(*keeper, caf::infinite, redirect_atom_v, std::uint32_t{0}, dead)
            .then([=](const Shard& now_shard) { *victim = now_shard; });
      },
      [](report_atom, const SavedCheckpoint&) {},
      [=](report_atom, const TrainingEvent& event) { seen->events.push_back(event.message); }};
}

struct Result {
  TensorList weights;
  Seen seen;
};

Result train(std::uint64_t steps, std::uint64_t every, std::uint32_t backups) {
  Troupe troupe(ThreadBudget{2, 1});
  CpuDeviceOptions device;
  device.intra_op = 1;
  device.inter_op = 1;
  const auto model = network();
  CoordinatorOptions c;
  c.max_steps = steps;
  const auto rounds = troupe.spawn("coordinator", coordinator, c);
  ShardOptions o;
  for (const auto& variable : model.graph->variables())
    o.variables.push_back({variable.name(), initial_value(variable, 1), true});
  o.optimizer = optim::momentum(0.9);
  o.schedule = 0.01;
  o.coordinator = rounds;
  const auto shard = troupe.spawn("shard 0", parameter_shard, o, SnapshotSink());
  const auto keeper = std::make_shared<ShardKeeper>();
  const auto seen = std::make_shared<Seen>();
  const auto listener = troupe.spawn("listener", killer, seen, every, keeper, shard);
  if (backups > 0) {
    ShardKeeperOptions k;
    k.shards = {{shard, o}};
    k.backups = backups;
    k.listener = listener;
    *keeper = troupe.spawn("shard keeper", shard_keeper, k);
  }
  ReplicaOptions r;
  r.fragment = training_fragment(model, false);
  r.batches = troupe.spawn("batches", batches, std::make_shared<std::uint64_t>(0));
  r.device = troupe.spawn("device", cpu_device, device);
  r.shards = {shard};
  r.keeper = *keeper;
  r.listener = listener;
  const auto trainer = troupe.spawn("replica", replica, r);
  troupe.ask<std::uint64_t>(trainer, std::chrono::minutes(10), start_atom_v);
  Result result;
  auto last = shard;
  if (every > 0)
    last = troupe.ask<Shard>(*keeper, std::chrono::minutes(1), redirect_atom_v, std::uint32_t{0},
                             shard.address());
  result.weights =
      troupe.ask<Parameters>(last, std::chrono::minutes(1), pull_atom_v, kNoVersion).values;
  *keeper = ShardKeeper();
  last = Shard();
  troupe.stop(std::chrono::seconds(10));
  result.seen = *seen;
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What the death of a shard costs when it has a copy"};
  std::uint64_t steps = 1'005, every = 50;
  app.add_option("--steps", steps, "Of a run");
  app.add_option("--every", every, "Steps between two deaths");
  CLI11_PARSE(app, argc, argv);
  const auto alone = train(steps, 0, 0);
  const auto quiet = train(steps, 0, 1);
  const auto result = train(steps, every, 1);
  std::vector<double> with, without;
  for (std::size_t i = 5; i < result.seen.steps.size(); ++i)
    (result.seen.died[i] ? with : without).push_back(result.seen.steps[i]);
  bool same = alone.weights.size() == result.weights.size();
  for (std::size_t i = 0; same && i < alone.weights.size(); ++i)
    same = same_bits(alone.weights[i], result.weights[i]);
  std::printf("step: %.3f ms without copies, %.3f ms with one\n", median(alone.seen.steps),
              median(quiet.seen.steps));
  std::printf(
      "%zu deaths: a step in which the shard dies takes %.3f ms, others %.3f ms: %.2f x; "
      "longest %.3f ms\n",
      with.size(), median(with), median(without), median(with) / median(without),
      with.empty() ? 0 : *std::max_element(with.begin(), with.end()));
  std::printf("weights after %lu steps: %s those of a run without deaths\n",
              static_cast<unsigned long>(steps), same ? "the bits of" : "NOT");
  return same ? 0 : 1;
}
