// How long the stages of a cut model wait for each other (the "bubble"), and how many
// micro-batches they hold. Devices are clocks: a forward move takes one unit of time, a
// backward move two, however many CPUs this machine has.
//
//   build/bench/bench/stages_benchmark
//
// Expect a bubble within a tenth of (P - 1) / (M + P - 1) for both schedules, and no more
// than P micro-batches under way with 1F1B.

#include <algorithm>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <cstdio>
#include <memory>

#include "troupe/actors/stages/stage.h"
#include "troupe/messages/system_config.h"
#include "troupe/messages/tick.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr auto kUnit = 10ms;
constexpr std::uint32_t kStages = 4;
constexpr std::uint32_t kMicroBatches = 16;
constexpr int kSteps = 3;

/// The run that a device is at.
struct ClockState {
  caf::typed_response_promise<RunResult> promise;
  RunResult result;
};

/// Fragments with one feed are forward moves. Serves one run at a time, as a stage asks for.
Device::behavior_type clock_device(Device::stateful_pointer<ClockState> self, bool first,
                                   bool last) {
  const auto is_forward = std::make_shared<std::vector<bool>>();  // by fragment
  const auto run = [=](FragmentId id, const TensorList& feeds) {
    const bool forward = is_forward->at(id - 1);
    auto& state = self->state;
    state.result = {};
    if (last) state.result.fetches.push_back(Tensor::scalar(1.0F));  // the loss
    if (forward || !first) state.result.fetches.push_back(feeds.at(0));
    state.promise = self->make_response_promise<RunResult>();
    tick_at(self, self->clock().now() + (forward ? 1 : last ? 3 : 2) * kUnit);
    return state.promise;
  };
  on_tick(self, [self] { self->state.promise.deliver(self->state.result); });
  return {
      [=](load_atom, const FragmentSpec& spec) {
        is_forward->push_back(spec.feeds.size() == 1);
        return static_cast<FragmentId>(is_forward->size());
      },
      [=](run_atom, FragmentId id, std::uint64_t,
          const TensorList& feeds) -> caf::result<RunResult> { return run(id, feeds); },
      [=](run_atom, FragmentId id, std::uint64_t, const TensorList& feeds, const OutputSink&,
          std::uint64_t) -> caf::result<RunResult> { return run(id, feeds); },
      [](unload_atom, FragmentId) { return caf::ok_atom_v; },
      [](status_atom) { return DeviceStatus{}; },
  };
}

void measure(StageSchedule schedule, const char* name) {
  SystemConfig config({2, 1});
  caf::actor_system system(config);
  caf::scoped_actor self{system};
  std::vector<Stage> stages;
  std::vector<StagePort> ports;
  for (std::uint32_t i = 0; i < kStages; ++i) {
    const bool last = i + 1 == kStages;
    StageOptions o;
    o.index = i;
    o.stages = kStages;
    o.schedule = schedule;
    o.device = system.spawn(clock_device, i == 0, last);
    o.program.forward.feeds = {"input"};
    o.program.backward.feeds = {"input", "returned"};
    o.program.has_loss = last;
    o.program.has_input_gradient = i > 0;
    stages.push_back(system.spawn(stage, o));
    ports.push_back(caf::actor_cast<StagePort>(stages.back()));
  }
  for (const auto& each : stages)
    self->request(each, caf::infinite, join_atom_v, ports)
        .receive([](caf::ok_atom) {}, [](const caf::error&) {});
  std::vector<double> bubbles;
  std::uint32_t most = 0;
  for (std::uint64_t number = 1; number <= kSteps; ++number) {
    StageStep step;
    step.step = number;
    step.rows.assign(kMicroBatches, 1);
    for (std::uint32_t i = 0; i < kMicroBatches; ++i) {
      self->send(ports.front(), forward_atom_v, StageTensor{number, i, Tensor::scalar(1.0F)});
      self->send(ports.back(), backward_atom_v, StageTensor{number, i, Tensor::scalar(1.0F)});
    }
    const auto begin = std::chrono::steady_clock::now();
    std::size_t missing = stages.size();
    for (const auto& each : stages)
      system.spawn([=, to = caf::actor_cast<caf::actor>(self)](caf::event_based_actor* asker) {
        asker->request(each, caf::infinite, run_atom_v, step).then([=](const StageReport& report) {
          asker->send(to, report);
        });
      });
    while (missing > 0)
      self->receive([&](const StageReport& report) {
        most = std::max(most, report.most_activations);
        --missing;
      });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    const double busy = kMicroBatches * 3 * std::chrono::duration<double>(kUnit).count();
    bubbles.push_back(1 - busy / elapsed.count());
  }
  std::sort(bubbles.begin(), bubbles.end());
  const double wanted = (kStages - 1.0) / (kMicroBatches + kStages - 1.0);
  const double bubble = bubbles[bubbles.size() / 2];
  std::printf(
      "%-6s %u stages, %u micro-batches: bubble %.3f, at best %.3f (%+.1f %%), at most %u "
      "micro-batches under way\n",
      name, kStages, kMicroBatches, bubble, wanted, 100 * (bubble / wanted - 1), most);
  for (const auto& each : stages) self->send_exit(each, caf::exit_reason::kill);
}

}  // namespace
}  // namespace troupe

int main() {
  troupe::measure(troupe::StageSchedule::gpipe, "gpipe");
  troupe::measure(troupe::StageSchedule::one_forward_one_back, "1f1b");
}
