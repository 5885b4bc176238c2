#include "troupe/actors/training/conductor.h"

#include <sys/resource.h>

#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <cmath>
#include <memory>
#include <utility>

#include "troupe/messages/fault.h"

namespace troupe {

std::chrono::nanoseconds process_cpu_time() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto time = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return time(use.ru_utime) + time(use.ru_stime);
}

namespace {

using Self = Conductor::stateful_pointer<ConductorState>;
using OptionsPtr = std::shared_ptr<const ConductorOptions>;
using Clock = ConductorState::Clock;

void wind_up(Self self, const OptionsPtr& options);

// ---- progress --------------------------------------------------------------------------------

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

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
  p.waiting_for_data =
      seconds(s.waited) /
      (elapsed * static_cast<double>(std::max<std::size_t>(1, options->replicas.size())));
  if (options->epoch_examples > 0)
    p.epoch = static_cast<double>(p.examples) / static_cast<double>(options->epoch_examples);
  const double overall = seconds(now - s.begun);
  p.seconds_left = -1;
  if (options->max_steps > 0 && p.step > options->first_step)
    p.seconds_left =
        overall * static_cast<double>(options->max_steps - std::min(p.step, options->max_steps)) /
        static_cast<double>(p.step - options->first_step);
  if (options->total_examples > 0 && p.examples > 0) {
    const double left =
        overall *
        static_cast<double>(std::max<std::int64_t>(0, options->total_examples - p.examples)) /
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

// ---- the ending ------------------------------------------------------------------------------

void tell_outcome(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  tell_progress(self, options, true);
  s.outcome_promise.deliver(s.outcome);
}

void end(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.over) return;
  s.over = true;
  s.outcome.elapsed = Clock::now() - s.begun;
  s.outcome.training = s.progress.training;
  s.outcome.evaluation = s.progress.evaluation;
  if (!options->coordinator) return tell_outcome(self, options);
  self->request(options->coordinator, options->patience, status_atom_v)
      .then(
          [self, options](AggregationStatus& status) {
            self->state.outcome.aggregation = std::move(status);
            tell_outcome(self, options);
          },
          [self, options](caf::error&) { tell_outcome(self, options); });  // it is why it ended
}

void stop_replicas(const OptionsPtr& options) {
  for (const auto& [name, replica] : options->replicas) caf::anon_send(replica, stop_atom_v);
  for (const auto& [name, decoder] : options->decoders) caf::anon_send(decoder, stop_atom_v);
  // A queue that nobody fills any more must not hold anybody up.
  caf::anon_send(options->examples, caf::close_atom_v,
                 CloseRequest{true, {Code::cancelled, "the training run is stopping"}});
}

/// The first failure is the cause; what follows from it is not told.
void note_failure(ConductorState& s, const Error& error) {
  if (s.outcome.ending == Ending::failed) return;
  s.outcome.ending = Ending::failed;
  s.outcome.code = error.code();
  s.outcome.message = error.what();
}

void fail_run(Self self, const OptionsPtr& options, const Error& error, bool keep_weights) {
  auto& s = self->state;
  if (s.over || s.outcome.ending == Ending::failed) return;
  note_failure(s, error);
  s.stopping = true;
  stop_replicas(options);
  if (!keep_weights) return end(self, options);
  if (s.replicas_running == 0) wind_up(self, options);
}

void take_evaluation(Self self, const OptionsPtr& options, const EvaluationResult& result) {
  auto& s = self->state;
  s.evaluating = false;
  s.last_evaluated = result.version;
  s.progress.evaluation = result.values;
  if (options->summaries) self->send(options->summaries, report_atom_v, result);
}

/// Evaluates once more if something has changed, and ends.
void evaluate_and_end(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!options->evaluator || s.outcome.ending == Ending::failed ||
      s.outcome.ending == Ending::stopped ||
      (s.last_evaluated == s.outcome.steps && !s.progress.evaluation.empty()))
    return end(self, options);
  s.evaluating_last = true;
  self->request(options->evaluator, caf::infinite, run_atom_v)
      .then(
          [self, options](const EvaluationResult& result) {
            if (!std::exchange(self->state.evaluating_last, false)) return;
            take_evaluation(self, options, result);
            end(self, options);
          },
          [self, options](caf::error& error) {
            if (!std::exchange(self->state.evaluating_last, false)) return;
            note_failure(self->state, to_error(error));
            end(self, options);
          });
}

void save(Self self, const OptionsPtr& options, std::vector<ShardSnapshot> snapshots) {
  self->request(options->checkpointer, caf::infinite, save_atom_v, std::move(snapshots))
      .then(
          [self, options](const SavedCheckpoint& saved) {
            self->state.outcome.checkpoint = saved.path;
            self->state.progress.checkpoint = saved.path;
            evaluate_and_end(self, options);
          },
          [self, options](caf::error& error) {
            note_failure(self->state, to_error(error));
            end(self, options);
          });
}

using Snapshots = std::shared_ptr<std::vector<ShardSnapshot>>;

/// Saves when all shards have said what they have. One that died is asked where its copy is.
void take_snapshot(Self self, const OptionsPtr& options, std::uint32_t index, const Shard& shard,
                   const Snapshots& snapshots) {
  const auto failed = [self, options](const caf::error& error) {
    note_failure(self->state, Error(code_of(error), text("no last checkpoint: ", render(error))));
    end(self, options);
  };
  self->request(shard, options->patience, snapshot_atom_v)
      .then(
          [self, options, snapshots](ShardSnapshot& snapshot) {
            snapshots->push_back(std::move(snapshot));
            if (snapshots->size() == options->shards.size())
              save(self, options, std::move(*snapshots));
          },
          [=](caf::error& error) {
            if (!options->keeper || code_of(error) != Code::unavailable) return failed(error);
            self->request(options->keeper, options->patience, redirect_atom_v, index,
                          shard.address())
                .then(
                    [=](const Shard& copy) {
                      take_snapshot(self, options, index, copy, snapshots);
                    },
                    failed);
          });
}

/// All replicas are done. First save, then evaluate: whoever is killed during a
/// long evaluation has lost nothing.
void wind_up(Self self, const OptionsPtr& options) {
  if (std::exchange(self->state.winding_up, true) || self->state.over) return;
  // Weights that nothing was learned into are not worth a checkpoint.
  if (!options->checkpointer || self->state.outcome.steps == options->first_step)
    return evaluate_and_end(self, options);
  const auto snapshots = std::make_shared<std::vector<ShardSnapshot>>();
  for (std::uint32_t i = 0; i < options->shards.size(); ++i)
    take_snapshot(self, options, i, options->shards[i], snapshots);
}

void stop_when_asked(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!s.stopping) {
    s.outcome.ending = Ending::stopped;
    s.stopping = true;
    stop_replicas(options);
  } else if (std::exchange(s.evaluating_last, false)) {
    s.outcome.ending = Ending::stopped;
    end(self, options);
  }
}

// ---- steps -----------------------------------------------------------------------------------

void evaluate(Self self, const OptionsPtr& options, std::uint64_t step) {
  auto& s = self->state;
  if (s.stopping || s.winding_up) return;
  if (s.evaluating) {
    s.evaluation_due = step;
    return;
  }
  s.evaluating = true;
  s.evaluation_due.reset();
  self->request(options->evaluator, caf::infinite, run_atom_v)
      .then(
          [self, options](const EvaluationResult& result) {
            auto& s = self->state;
            take_evaluation(self, options, result);
            if (options->stop_below && result.values.at(0) < *options->stop_below && !s.stopping) {
              s.outcome.ending = Ending::goal_met;
              s.stopping = true;
              stop_replicas(options);
            }
            if (s.evaluation_due) evaluate(self, options, *s.evaluation_due);
          },
          [self, options](caf::error& error) { fail_run(self, options, to_error(error), true); });
}

/// Sums up the oldest step of which there are reports.
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
    if (sum.reports < options->replicas.size() && step == report.step) break;
    complete_first_step(self, options);
  }
}

void replica_done(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (--s.replicas_running > 0) return;
  while (!s.open_steps.empty()) complete_first_step(self, options);
  if (s.outcome.ending == Ending::steps_done &&
      (options->max_steps == 0 || s.outcome.steps < options->max_steps))
    s.outcome.ending = Ending::end_of_data;
  if (s.outcome.ending == Ending::end_of_data && s.outcome.steps == options->first_step)
    note_failure(s, Error(Code::invalid_argument,
                          "the data have ended before the first batch was full: there are fewer "
                          "rows than a batch has"));
  s.stopping = true;
  stop_replicas(options);
  wind_up(self, options);
}

void start(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  s.progress.names = options->names;
  s.progress.max_steps = options->max_steps;
  s.progress.step = s.outcome.steps = options->first_step;
  for (const auto& [name, actor] : options->watched) {
    s.watched[actor.address()] = name;
    self->monitor(actor);
  }
  s.begun = s.last_tick = Clock::now();
  s.last_cpu = process_cpu_time();
  s.replicas_running = options->replicas.size();
  for (const auto* decoders : {&options->decoders, &options->evaluation_decoders})
    for (const auto& [name, decoder] : *decoders)
      self->request(decoder, caf::infinite, start_atom_v)
          .then([](std::uint64_t) {},
                [self, options](caf::error& error) {
                  if (!self->state.stopping) fail_run(self, options, to_error(error), true);
                });
  for (const auto& [name, replica] : options->replicas)
    self->request(replica, caf::infinite, start_atom_v)
        .then([self, options](std::uint64_t) { replica_done(self, options); },
              [self, options](caf::error& error) {
                fail_run(self, options, to_error(error), true);
                replica_done(self, options);
              });
  self->delayed_send(self, options->interval, tick_atom_v);
}

}  // namespace

Conductor::behavior_type conductor(Self self, OptionsPtr options) {
  self->set_down_handler([self, options](const caf::down_msg& down) {
    const auto found = self->state.watched.find(down.source);
    if (found == self->state.watched.end() || !self->state.started || self->state.over) return;
    if (!down.reason) return;  // it had nothing left to do
    const auto cause = to_error(down.reason);
    fail_run(self, options, Error(cause.code(), text(found->second, " ended: ", cause.what())),
             true);
  });
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
          options->events(text("step ", event.step, ": ", event.message));
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
  };
}

}  // namespace troupe
