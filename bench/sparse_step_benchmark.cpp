// A step on 32 rows of a table of 1 GB and of one of 8 GB at a shard: pull of the rows, push of
// their gradients, commit. The table's memory is taken where it is written. Give the program
// two CPUs: the shard and who asks it each use one.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/ops/random.h"

using namespace troupe;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kRowsOfAStep = 32;

struct Work {
  std::vector<Tensor> ids;  ///< of each step, in turn
  Tensor gradient;
  std::uint64_t steps = 0;
};

/// What replica 0 would do; answers the time of each step in microseconds.
struct ClientState {
  caf::typed_response_promise<std::vector<double>> promise;
  std::vector<double> times;
  Clock::time_point begun;
  std::uint64_t step = 0;
};
using Client = caf::stateful_actor<ClientState>;

void next_step(Client* self, const Shard& shard, const std::shared_ptr<const Work>& work) {
  auto& s = self->state;
  if (s.step == work->steps) {
    s.promise.deliver(s.times);
    return;
  }
  ++s.step;
  s.begun = Clock::now();
  const auto& ids = work->ids[s.step % work->ids.size()];
  RowPull pull;
  pull.wanted.push_back({"table", ids});
  self->request(shard, caf::infinite, pull_atom_v, pull).then([=](const PulledRows&) {
    GradientPart part;
    part.kind = PartKind::sparse_gradient;
    part.step = self->state.step;
    part.variable = "table";
    part.values = work->gradient;
    part.indices = ids;
    self->send(shard, push_atom_v, part);
    self->request(shard, caf::infinite, commit_atom_v,
                  GradientCommit{0, self->state.step, self->state.step - 1, 1, 0})
        .then([=](const ApplyResult&) {
          auto& now = self->state;
          now.times.push_back(
              std::chrono::duration<double, std::micro>(Clock::now() - now.begun).count());
          next_step(self, shard, work);
        });
  });
}

caf::behavior client(Client* self, const Shard& shard, std::shared_ptr<const Work> work) {
  return {[=](start_atom) {
    self->state.promise = self->make_response_promise<std::vector<double>>();
    self->request(shard, caf::infinite, join_atom_v, std::uint32_t{0})
        .then([=](const ApplyResult&) { next_step(self, shard, work); });
    return self->state.promise;
  }};
}

struct Figures {
  double round_trip = 0;  ///< median, microseconds
  double busy = 0;        ///< of the shard, mean, microseconds
};

Figures measure(double gigabytes, const std::string& optimizer, std::uint64_t steps) {
  const auto rows = static_cast<std::int64_t>(gigabytes * 1e9) / (kWidth * 4);
  Troupe troupe(ThreadBudget{2, 1});
  CoordinatorOptions c;
  const auto rounds = troupe.spawn("coordinator", coordinator, c);
  ShardOptions o;
  o.variables = {{"table", {}, true, RowTable(DType::float32, {rows, kWidth}, 0)}};
  o.optimizer = parse_optimizer(optimizer);
  o.schedule = 0.01;
  o.coordinator = rounds;
  const auto shard = troupe.spawn("shard 0", parameter_shard, o, SnapshotSink());
  o.variables.clear();
  const auto work = std::make_shared<Work>();
  RandomStream random(3);
  // Steps come back to the same rows after a while: these take memory at first.
  constexpr int kDifferent = 64;
  for (int i = 0; i < kDifferent; ++i) {
    std::vector<std::int64_t> ids;
    for (std::int64_t k = 0; k < kRowsOfAStep; ++k)
      ids.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(rows))));
    std::sort(ids.begin(), ids.end());
    work->ids.push_back(Tensor::of<std::int64_t>({kRowsOfAStep}, ids));
  }
  work->gradient = Tensor::filled(DType::float32, {kRowsOfAStep, kWidth}, 0.01);
  work->steps = steps;
  const auto status = [&] {
    return troupe.ask<ShardStatus>(shard, std::chrono::minutes(1), status_atom_v);
  };
  const auto asking = troupe.spawn("client", client, shard, std::shared_ptr<const Work>(work));
  auto times = troupe.ask<std::vector<double>>(asking, std::chrono::minutes(10), start_atom_v);
  const auto after = status();
  times.erase(times.begin(), times.begin() + kDifferent);
  std::sort(times.begin(), times.end());
  Figures f{times[times.size() / 2], std::chrono::duration<double, std::micro>(after.busy).count() /
                                         static_cast<double>(steps)};
  std::printf("%3.0f GB, %s: step %6.1f us (1st decile %.1f), shard busy %5.1f us of it\n",
              gigabytes, optimizer.c_str(), f.round_trip, times[times.size() / 10], f.busy);
  std::fflush(stdout);
  return f;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A step on 32 rows of a table of 1 GB and of 8 GB"};
  std::string optimizer = "adam(0.9, 0.999, 1e-8, lazy)";
  std::uint64_t steps = 20'000;
  int rounds = 3;
  app.add_option("--optimizer", optimizer, "As parse_optimizer() takes it");
  app.add_option("--steps", steps, "Steps of a measurement");
  app.add_option("--rounds", rounds, "Measurements of both sizes in turn");
  CLI11_PARSE(app, argc, argv);
  for (int i = 0; i < rounds; ++i) {
    const auto small = measure(1, optimizer, steps);
    const auto large = measure(8, optimizer, steps);
    std::printf("8 GB against 1 GB: step %.2f, shard busy %.2f\n",
                large.round_trip / small.round_trip, large.busy / small.busy);
  }
}
