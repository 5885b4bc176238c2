#include "troupe/actors/training/conductor.h"

#include <caf/typed_event_based_actor.hpp>
#include <string>
#include <utility>

#include "troupe/actors/training/conductor_ending.h"
#include "troupe/actors/training/conductor_progress.h"
#include "troupe/actors/training/conductor_replicas.h"
#include "troupe/actors/training/conductor_steps.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ConductorSelf;
using OptionsPtr = ConductorOptionsPtr;
using Clock = ConductorState::Clock;
using Member = ConductorState::Member;
using At = Member::At;

void start(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  s.best = options->best;
  s.progress.names = options->names;
  s.progress.max_steps = options->max_steps;
  s.progress.step = s.outcome.steps = options->first_step;
  for (const auto& [name, actor] : options->watched) {
    s.watched[actor.address()] = name;
    self->monitor(actor);
  }
  s.begun = s.last_tick = Clock::now();
  s.last_cpu = process_cpu_time();
  auto restarts = options->restarts;
  if (!options->spawn_replica) restarts.most = 0;
  s.rules.emplace(restarts);
  for (const auto& [name, replica] : options->replicas)
    add_member(s, name, s.next_index++, replica);
  for (const auto* decoders : {&options->decoders, &options->evaluation_decoders})
    for (const auto& [name, decoder] : *decoders)
      self->request(decoder, caf::infinite, start_atom_v)
          .then([](std::uint64_t) {},
                [self, options](caf::error& error) {
                  if (!self->state.stopping) fail_run(self, options, to_error(error), true);
                });
  for (const auto& [name, replica] : options->replicas) start_replica(self, options, name);
  self->delayed_send(self, options->interval, tick_atom_v);
  if (s.stopping) stop_replicas(self, options);
}

void take_down(Self self, const OptionsPtr& options, const caf::down_msg& down) {
  auto& s = self->state;
  for (const auto& [name, m] : s.members)
    if (m.handle.address() == down.source && m.at == At::work)
      return take_loss(self, options, std::string(name), down.reason);
  const auto found = s.watched.find(down.source);
  if (found == s.watched.end() || !s.started || s.over) return;
  if (!down.reason) return;  // it had nothing left to do
  const auto cause = to_error(down.reason);
  fail_run(self, options, Error(cause.code(), text(found->second, " ended: ", cause.what())), true);
  if (options->vital.count(found->second) > 0) end_replicas(s);
}

}  // namespace

LeadingConductor::behavior_type conductor(ConductorSelf self, ConductorOptionsPtr options) {
  self->set_down_handler(
      [self, options](const caf::down_msg& down) { take_down(self, options, down); });
  return {
      [self, options](report_atom, const StepReport& report) {
        take_report(self, options, report);
      },
      [self](report_atom, const SavedCheckpoint& saved) {
        self->state.outcome.checkpoint = saved.path;
        self->state.progress.checkpoint = saved.path;
      },
      [self, options](report_atom, const TrainingEvent& event) {
        if (options->events && !self->state.over)
          options->events(text("step ", event.step > 0 ? event.step : self->state.progress.step,
                               ": ", event.message));
      },
      [self, options](start_atom) -> caf::result<TrainingOutcome> {
        auto& s = self->state;
        if (s.started) return fault(Code::failed_precondition, "the run has been started already");
        s.started = true;
        s.outcome_promise = self->make_response_promise<TrainingOutcome>();
        start(self, options);
        return s.outcome_promise;
      },
      [self, options](stop_atom) {
        stop_when_asked(self, options);
        return caf::ok_atom_v;
      },
      [self, options](tick_atom) { tick(self, options); },
      [self, options](start_atom, const std::string& name) { restart(self, options, name); },
      [self, options](join_atom) { return add_replica(self, options); },
      [self, options](leave_atom, const std::string& name) {
        return answer([&] { return remove_replica(self, options, name); });
      },
      [self](status_atom) { return staying_replicas(self->state); },
      [self, options](log_atom, const std::string& words) { tell(self, options, words); },
  };
}

}  // namespace troupe
