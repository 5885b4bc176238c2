#include "troupe/actors/training/conductor_progress.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <string>

#include "troupe/actors/training/conductor_replicas.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ConductorSelf;
using OptionsPtr = ConductorOptionsPtr;
using Clock = ConductorState::Clock;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void tell_progress(Self self, const OptionsPtr& options, bool last) {
  auto& s = self->state;
  if (!options->progress) return;
  const auto now = Clock::now();
  const double elapsed = std::max(1e-9, seconds(now - s.last_tick));
  auto& p = s.progress;
  p.examples = s.outcome.examples;
  p.examples_per_second = static_cast<double>(p.examples - s.last_examples) / elapsed;
  const auto cpu = process_cpu_time();
  p.cpu_use = seconds(cpu - s.last_cpu) / elapsed;
  p.waiting_for_data = seconds(s.waited) /
                       (elapsed * static_cast<double>(std::max<std::size_t>(1, live_replicas(s))));
  if (options->epoch_examples > 0)
    p.epoch = static_cast<double>(options->first_examples + p.examples) /
              static_cast<double>(options->epoch_examples);
  const double overall = seconds(now - s.begun);
  p.seconds_left = -1;
  if (options->max_steps > 0 && p.step > options->first_step)
    p.seconds_left =
        overall * static_cast<double>(options->max_steps - std::min(p.step, options->max_steps)) /
        static_cast<double>(p.step - options->first_step);
  if (options->total_examples > 0 && p.examples > 0) {
    const double left = overall *
                        static_cast<double>(std::max<std::int64_t>(
                            0, options->total_examples - options->first_examples - p.examples)) /
                        static_cast<double>(p.examples);
    p.seconds_left = p.seconds_left < 0 ? left : std::min(left, p.seconds_left);
  }
  p.last = last;
  options->progress(p);
  s.last_tick = now;
  s.last_cpu = cpu;
  s.last_examples = p.examples;
  s.waited = {};
}

void tick(Self self, const OptionsPtr& options) {
  if (self->state.over) return;
  self->delayed_send(self, options->interval, tick_atom_v);
  self->request(options->examples, options->interval, status_atom_v)
      .then(
          [self, options](const QueueStatus& status) {
            if (self->state.over) return;
            self->state.progress.queue_fill =
                status.capacity > 0
                    ? static_cast<double>(status.size) / static_cast<double>(status.capacity)
                    : 0;
            tell_progress(self, options, false);
          },
          [](caf::error&) {});  // busy: the next tick asks again
}

void tell(Self self, const OptionsPtr& options, const std::string& words) {
  auto& s = self->state;
  if (options->events && !s.over) options->events(text("step ", s.progress.step, ": ", words));
}

}  // namespace troupe
