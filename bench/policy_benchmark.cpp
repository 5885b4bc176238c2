// Wall-clock to a target loss under each policy, with one of four replicas slowed down.
//
//   policy_benchmark                       # all policies, one replica 4 times as slow
//   policy_benchmark --slow 1 --policy async --policy ssp:1
//
// The time of a replica's step is set: its device answers so many milliseconds after it
// was asked. Gradients, shards, coordinator and messages are real. So the figures compare
// policies, not processors, and hold on a machine with fewer cores than replicas.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <caf/all.hpp>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "median.h"
#include "replica_company.h"
#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/actors/parameters/placement.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/actors/training/replica.h"
#include "troupe/devices/cpu_device.h"
#include "troupe/messages/tick.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/random.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::int64_t kInputs = 32, kClasses = 10, kRows = 32;

Model student() {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, kInputs});
  const auto y = placeholder(*m.graph, "y", DType::int64, {-1});
  const auto hidden = nn::dense(x, 64, {.name = "hidden", .activation = tanh});
  m.inputs = {x, y};
  m.loss = nn::cross_entropy(nn::dense(hidden, kClasses, {.name = "out"}), y);
  return m;
}

/// Examples whose class a fixed linear teacher tells.
class Teacher {
 public:
  Teacher() {
    RandomStream random(99);
    for (auto& w : weights_) w = random.normal();
  }
  Batch batch(std::uint64_t sequence, std::int64_t rows, std::uint64_t seed) const {
    RandomStream random(seed, sequence);
    Tensor x(DType::float32, {rows, kInputs});
    Tensor y(DType::int64, {rows});
    auto xs = x.write<float>();
    for (std::int64_t r = 0; r < rows; ++r) {
      double best = -1e30;
      for (std::int64_t i = 0; i < kInputs; ++i)
        xs[r * kInputs + i] = static_cast<float>(random.normal());
      for (std::int64_t c = 0; c < kClasses; ++c) {
        double score = 0;
        for (std::int64_t i = 0; i < kInputs; ++i)
          score += weights_[c * kInputs + i] * xs[r * kInputs + i];
        if (score <= best) continue;
        best = score;
        y.write<std::int64_t>()[r] = c;
      }
    }
    return {sequence, {x, y}};
  }

 private:
  std::array<double, kInputs * kClasses> weights_;
};

BatchSource::behavior_type lessons(BatchSource::pointer, std::uint64_t seed) {
  const auto next = std::make_shared<std::uint64_t>(0);
  const auto teacher = std::make_shared<Teacher>();
  return {[=](next_atom, std::uint32_t) { return teacher->batch((*next)++, kRows, seed); },
          [](assign_atom, bool) {}, [](status_atom) { return StageStatus{}; }};
}

/// A device whose answers come no sooner than `time` after the question.
Device::behavior_type paced_device(Device::pointer self, const Device& device, Milliseconds time) {
  const auto answers = std::make_shared<std::deque<std::function<void()>>>();  // in time
  on_tick(self, [answers] {
    const auto answer = std::move(answers->front());
    answers->pop_front();
    answer();
  });
  return {
      [=](load_atom, const FragmentSpec& spec) {
        return self->delegate(device, load_atom_v, spec);
      },
      [=](run_atom, FragmentId id, std::uint64_t seed, const TensorList& feeds) {
        return self->delegate(device, run_atom_v, id, seed, feeds);
      },
      [=](run_atom, FragmentId id, std::uint64_t seed, const TensorList& feeds,
          const OutputSink& sink, std::uint64_t tag) -> caf::result<RunResult> {
        auto promise = self->make_response_promise<RunResult>();
        const auto due = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
        self->request(device, caf::infinite, run_atom_v, id, seed, feeds, sink, tag)
            .then(
                [=](const RunResult& result) mutable {
                  answers->push_back([=]() mutable { promise.deliver(result); });
                  tick_at(self, std::max(due, Clock::now()));
                },
                [=](caf::error& error) mutable { promise.deliver(std::move(error)); });
        return promise;
      },
      [=](unload_atom, FragmentId id) { return self->delegate(device, unload_atom_v, id); },
      [=](status_atom) { return self->delegate(device, status_atom_v); },
  };
}

struct Setting {
  int replicas = 4;
  double step = 4;  ///< ms
  double slow = 4;  ///< factor for the last replica
  double target = 0.5;
  double limit = 20;  ///< s
};

struct Measured {
  double seconds = -1;  ///< -1: not within the limit
  AggregationStatus status;
};

Measured measure(const Setting& setting, const std::string& policy, double learning_rate,
                 std::uint64_t seed) {
  Troupe troupe(ThreadBudget{2, 1});
  CpuDeviceOptions device_options;
  device_options.intra_op = 1;
  device_options.inter_op = 2;
  const auto device = troupe.spawn("device", cpu_device, device_options);
  const auto model = student();
  const auto variables = model.graph->variables();
  CoordinatorOptions c;
  c.aggregation.policy = policy;
  c.shards = 2;
  c.replicas = static_cast<std::uint32_t>(setting.replicas);
  const auto rounds = troupe.spawn("coordinator", coordinator, c);
  const auto shard_of = place_variables(variables, c.shards, VariablePlacement::by_bytes);
  std::vector<ShardOptions> options(c.shards);
  for (std::size_t i = 0; i < variables.size(); ++i)
    options[shard_of[i]].variables.push_back(
        {variables[i].name(), initial_value(variables[i], seed), variables[i].trainable()});
  std::vector<Shard> shards;
  for (std::uint32_t i = 0; i < c.shards; ++i) {
    options[i].index = i;
    options[i].optimizer = optim::sgd();
    options[i].schedule = learning_rate;
    options[i].coordinator = rounds;
    options[i].policy = policy;
    shards.push_back(troupe.spawn("shard", parameter_shard, options[i], SnapshotSink()));
  }
  ReplicaOptions r;
  r.fragment = training_fragment(model, false);
  r.batches = troupe.spawn("batches", lessons, seed);
  r.listener = troupe.spawn("listener", nobody);
  r.shards = shards;
  r.optimizer = optim::sgd();
  r.learning_rate = learning_rate;

  const auto evaluation = evaluation_fragment(student());
  const auto id =
      troupe.ask<FragmentId>(device, std::chrono::minutes(1), load_atom_v, evaluation.spec);
  const auto test = Teacher().batch(0, 1000, 12345);

  const auto begun = Clock::now();
  for (int i = 0; i < setting.replicas; ++i) {
    const double factor = i + 1 == setting.replicas ? setting.slow : 1;
    r.index = static_cast<std::uint32_t>(i);
    r.device =
        troupe.spawn("paced device", paced_device, device, Milliseconds(setting.step * factor));
    troupe.tell(troupe.spawn("replica", replica, r), start_atom_v);
  }
  Measured measured;
  while (true) {
    const std::chrono::duration<double> now = Clock::now() - begun;
    TensorList values(evaluation.variables.size());
    for (const auto& shard : shards) {
      const auto p =
          troupe.ask<Parameters>(shard, std::chrono::minutes(1), pull_atom_v, kNoVersion);
      for (std::size_t i = 0; i < p.names.size(); ++i) {
        const auto& wanted = evaluation.variables;
        values[std::find(wanted.begin(), wanted.end(), p.names[i]) - wanted.begin()] = p.values[i];
      }
    }
    const auto result =
        troupe.ask<RunResult>(device, std::chrono::minutes(1), run_atom_v, id, std::uint64_t{0},
                              feeds_for(evaluation, test.components, values));
    const double loss = result.fetches[0].item();
    if (loss < setting.target) measured.seconds = now.count();
    if (loss < setting.target || now.count() > setting.limit || !(loss < 100)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  measured.status = troupe.ask<AggregationStatus>(rounds, std::chrono::minutes(1), status_atom_v);
  troupe.stop(std::chrono::seconds(10));
  return measured;
}

void compare(const Setting& setting, const std::vector<std::string>& policies,
             const std::vector<double>& rates, int repeats) {
  std::printf("%-22s %6s %9s %9s %9s %10s %6s\n", "policy", "rate", "seconds", "updates",
              "ms/update", "staleness", "late");
  for (const auto& policy : policies) {
    double best_rate = 0, best = -1;
    for (const auto rate : rates) {
      const auto seconds = measure(setting, policy, rate, 1).seconds;
      if (seconds < 0 || (best >= 0 && seconds >= best)) continue;
      best = seconds;
      best_rate = rate;
    }
    if (best < 0) {
      std::printf("%-22s not within %.0f s\n", policy.c_str(), setting.limit);
      continue;
    }
    std::vector<double> seconds, updates, staleness, late;
    for (int i = 0; i < repeats; ++i) {
      const auto m = measure(setting, policy, best_rate, 2 + static_cast<std::uint64_t>(i));
      seconds.push_back(m.seconds < 0 ? setting.limit : m.seconds);
      updates.push_back(static_cast<double>(m.status.updates));
      double sum = 0, count = 0, refused = 0;
      for (const auto& r : m.status.replicas) {
        refused += static_cast<double>(r.stale);
        for (std::size_t s = 0; s < r.staleness.counts.size(); ++s) {
          sum += static_cast<double>(s * r.staleness.counts[s]);
          count += static_cast<double>(r.staleness.counts[s]);
        }
      }
      staleness.push_back(sum / std::max(1.0, count));
      late.push_back(refused);
    }
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    std::printf("%-22s %6.2f %9.2f %9.0f %9.2f %10.2f %6.0f  [%.2f %.2f]\n", policy.c_str(),
                best_rate, median(seconds), median(updates),
                1000 * median(seconds) / std::max(1.0, median(updates)), median(staleness),
                median(late), *least, *most);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) {
  CLI::App app{"Wall-clock to a target loss under each policy, with one slow replica"};
  troupe::Setting setting;
  std::vector<std::string> policies{"async", "ssp:1", "ssp:3",         "ssp:10",
                                    "ssp:0", "sync",  "sync:backups=1"};
  std::vector<double> rates{0.1, 0.2, 0.4, 0.8};
  int repeats = 5;
  app.add_option("--policy", policies, "Policies to compare");
  app.add_option("--rate", rates, "Learning rates; the best one of each policy is measured");
  app.add_option("--replicas", setting.replicas, "Replicas");
  app.add_option("--step", setting.step, "Milliseconds of a step");
  app.add_option("--slow", setting.slow, "How many times as long the last replica takes");
  app.add_option("--target", setting.target, "Loss on the test set that is to be reached");
  app.add_option("--limit", setting.limit, "Seconds after which a run is given up");
  app.add_option("--repeats", repeats, "Runs of which the median is told");
  CLI11_PARSE(app, argc, argv);
  troupe::compare(setting, policies, rates, repeats);
}
