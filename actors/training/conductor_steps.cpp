#include "troupe/actors/training/conductor_steps.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <cmath>
#include <utility>

#include "troupe/actors/training/conductor_ending.h"
#include "troupe/actors/training/conductor_evaluations.h"
#include "troupe/actors/training/conductor_replicas.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ConductorSelf;
using OptionsPtr = ConductorOptionsPtr;
using Clock = ConductorState::Clock;

}  // namespace

void complete_first_step(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  const auto first = s.open_steps.extract(s.open_steps.begin());
  const auto step = first.key();
  const auto& total = first.mapped();
  if (total.examples > 0) {
    auto report = total.last;
    report.step = step;
    report.examples = total.examples;
    report.values = total.values;
    for (auto& value : report.values) value /= static_cast<double>(total.examples);
    s.progress.training = report.values;
    if (options->summaries) self->send(options->summaries, report_atom_v, report);
  }
  // Updates may count several steps: what falls due between two of them is due.
  const auto before = std::exchange(s.progress.step, std::max(s.progress.step, step));
  const auto every = options->evaluate_every;
  if (options->evaluator && every > 0 && s.progress.step / every != before / every)
    evaluate(self, options, s.progress.step);
}

void take_report(Self self, const OptionsPtr& options, const StepReport& report) {
  auto& s = self->state;
  if (s.over) return;
  if (s.outcome.examples == 0) s.outcome.until_first_step = Clock::now() - s.begun;
  s.outcome.examples += report.examples;
  s.outcome.steps = std::max(s.outcome.steps, report.step);
  s.progress.learning_rate = report.learning_rate;
  s.progress.staleness = report.staleness;
  s.waited += report.waited_for_data;
  s.last_steps[report.replica] = report.step;
  for (std::size_t i = 0; i < report.values.size(); ++i)
    if (i == 0 && !std::isfinite(report.values[i]))
      return fail_run(
          self, options,
          Error(Code::invalid_argument,
                text("the loss is ", report.values[i], " at step ", report.step, " (replica ",
                     report.replica, ", learning rate ", report.learning_rate,
                     "): the weights are lost; go on from the last checkpoint with a "
                     "smaller learning rate, or clip the gradients")),
          false);
  auto& total = s.open_steps[report.step];
  total.values.resize(std::max(total.values.size(), report.values.size()));
  for (std::size_t i = 0; i < report.values.size(); ++i)
    total.values[i] += report.values[i] * static_cast<double>(report.examples);
  total.examples += report.examples;
  total.last = report;
  ++total.reports;
  // Reports of older steps come first, but a replica that left sends none.
  while (!s.open_steps.empty()) {
    const auto& [step, sum] = *s.open_steps.begin();
    if (sum.reports < live_replicas(s) && step == report.step) break;
    complete_first_step(self, options);
  }
}

}  // namespace troupe
