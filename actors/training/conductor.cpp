#include "troupe/actors/training/conductor.h"

#include <sys/resource.h>

#include <algorithm>
#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "troupe/actors/training/evaluator.h"
#include "troupe/messages/answer.h"
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

using Self = LeadingConductor::stateful_pointer<ConductorState>;
using OptionsPtr = std::shared_ptr<const ConductorOptions>;
using Clock = ConductorState::Clock;

using Member = ConductorState::Member;
using At = Member::At;

void wind_up(Self self, const OptionsPtr& options);
void conclude(Self self, const OptionsPtr& options);

/// Replicas that take part, or will again.
std::size_t live_replicas(const ConductorState& s) {
  return static_cast<std::size_t>(std::count_if(
      s.members.begin(), s.members.end(), [](const auto& m) { return m.second.at != At::end; }));
}

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

// ---- the ending ------------------------------------------------------------------------------

void tell_outcome(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  tell_progress(self, options, true);
  s.outcome_promise.deliver(s.outcome);
}

/// What the feeder's books say at the end.
void take_books(ConductorState& s, const LedgerStatus& books) {
  s.outcome.examples = books.trained;
  s.outcome.records_repeated = books.repeated;
  s.outcome.records_lost = books.lost;
  for (const auto& one : books.outstanding) s.outcome.records_left += one.batch.rows();
}

void close_books(Self self, const OptionsPtr& options) {
  if (!options->feeder) return tell_outcome(self, options);
  self->request(options->feeder, options->patience, ledger_atom_v)
      .then(
          [self, options](const LedgerStatus& books) {
            take_books(self->state, books);
            tell_outcome(self, options);
          },
          [self, options](caf::error&) { tell_outcome(self, options); });  // it is why it ended
}

void end(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (s.over) return;
  s.over = true;
  s.outcome.elapsed = Clock::now() - s.begun;
  s.outcome.training = s.progress.training;
  s.outcome.evaluation = s.progress.evaluation;
  if (options->answers_best && !s.best_checkpoint.empty()) {
    s.outcome.evaluation = s.best_values;
    s.outcome.checkpoint = s.best_checkpoint;
  }
  if (!options->coordinator) return close_books(self, options);
  self->request(options->coordinator, options->patience, status_atom_v)
      .then(
          [self, options](AggregationStatus& status) {
            self->state.outcome.aggregation = std::move(status);
            close_books(self, options);
          },
          [self, options](caf::error&) { close_books(self, options); });  // it is why it ended
}

/// Replicas end after the step that they are in; those that are lost do not come back.
void stop_replicas(Self self, const OptionsPtr& options) {
  for (auto& [name, m] : self->state.members) {
    if (m.at == At::work) caf::anon_send(m.handle, stop_atom_v);
    if (m.at == At::rest) m.at = At::end;
  }
  if (options->whole_sets)
    self->send(options->feeder, detach_atom_v, std::uint32_t{LeftBatch::kAnyReplica});
  if (options->coordinator) self->send(options->coordinator, stop_atom_v);
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
  stop_replicas(self, options);
  if (!keep_weights) return end(self, options);
  if (live_replicas(s) == 0) wind_up(self, options);
}

/// Has the variables kept that gave the best evaluation so far.
void save_best(Self self, const OptionsPtr& options, const EvaluationResult& result,
               const std::function<void()>& then) {
  const auto fails = [self, options, then](const caf::error& why) {
    if (options->events)
      options->events(text("the best weights could not be kept: ", to_error(why).what()));
    then();
  };
  self->request(caf::actor_cast<ObservedEvaluator>(options->evaluator), options->patience,
                snapshot_atom_v)
      .then(
          [self, options, result, then, fails](ShardSnapshot& snapshot) {
            self->request(caf::actor_cast<DataCheckpointer>(options->checkpointer), caf::infinite,
                          save_atom_v, std::move(snapshot), result)
                .then(
                    [self, then](const SavedCheckpoint& saved) {
                      self->state.best_checkpoint = saved.path;
                      then();
                    },
                    fails);
          },
          fails);
}

/// Takes a result in, and goes on once everything that it brings about is done.
void take_evaluation(Self self, const OptionsPtr& options, const EvaluationResult& result,
                     const std::function<void()>& then) {
  auto& s = self->state;
  s.last_evaluated = result.version;
  s.progress.evaluation = result.values;
  if (options->summaries) self->send(options->summaries, report_atom_v, result);
  if (!s.best) return then();
  const bool better = s.best->take(result.version, result.values.at(s.best->compared()));
  if (better) s.best_values = result.values;
  if (options->checkpointer)
    self->send(caf::actor_cast<DataCheckpointer>(options->checkpointer), assign_atom_v,
               std::string(kBestEvaluation), s.best->str());
  if (better && options->keeps_best && options->checkpointer)
    return save_best(self, options, result, then);
  then();
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
            if (!self->state.evaluating_last) return;
            take_evaluation(self, options, result, [self, options] {
              if (std::exchange(self->state.evaluating_last, false)) end(self, options);
            });
          },
          [self, options](caf::error& error) {
            if (!std::exchange(self->state.evaluating_last, false)) return;
            note_failure(self->state, to_error(error));
            end(self, options);
          });
}

template <class... Saved>
void save(Self self, const OptionsPtr& options, Saved... saved) {
  self->request(caf::actor_cast<DataCheckpointer>(options->checkpointer), caf::infinite,
                save_atom_v, std::move(saved)...)
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

/// The replicas are done, so that the data stand where the parameters do.
void save_with_data(Self self, const OptionsPtr& options, std::vector<ShardSnapshot> snapshots) {
  if (!options->with_data && !options->with_memories)
    return save(self, options, std::move(snapshots));
  // The coordinator also sends what replicas remember to the checkpointer.
  self->request(caf::actor_cast<SavingCoordinator>(options->coordinator), options->patience,
                cut_atom_v)
      .then(
          [self, options, snapshots](DataState& data) {
            if (!options->with_data) return save(self, options, snapshots);
            save(self, options, snapshots, std::move(data));
          },
          [self, options, snapshots](const caf::error& why) {
            if (!options->with_data) return save(self, options, snapshots);
            DataState data;
            data.missing = to_error(why).what();
            save(self, options, snapshots, std::move(data));
          });
}

using Snapshots = std::shared_ptr<std::vector<ShardSnapshot>>;

/// Whether they are of one moment: those with the run's policy then have the same version, which
/// is that of the others, too.
bool agree(std::vector<ShardSnapshot>& snapshots) {
  const auto leads = [](const ShardSnapshot& snapshot) { return snapshot.group.empty(); };
  const auto first = std::find_if(snapshots.begin(), snapshots.end(), leads);
  if (first == snapshots.end()) return false;
  const auto version = first->version;
  for (auto& snapshot : snapshots) {
    if (leads(snapshot) && snapshot.version != version) return false;
    snapshot.version = version;
  }
  return true;
}

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
            if (snapshots->size() < options->shards.size()) return;
            // They do not only when the coordinator died in the middle of a decision.
            if (!agree(*snapshots)) return end(self, options);
            save_with_data(self, options, std::move(*snapshots));
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
    stop_replicas(self, options);
    if (s.started && live_replicas(s) == 0) conclude(self, options);
  } else if (std::exchange(s.evaluating_last, false)) {
    s.outcome.ending = Ending::stopped;
    end(self, options);
  }
}

// ---- steps -----------------------------------------------------------------------------------

void evaluate(Self self, const OptionsPtr& options, std::uint64_t step);

/// Ends the run if that is what the evaluation means.
void go_on_evaluated(Self self, const OptionsPtr& options, const EvaluationResult& result) {
  auto& s = self->state;
  s.evaluating = false;
  const auto stop = [&](Ending why) {
    s.outcome.ending = why;
    s.stopping = true;
    stop_replicas(self, options);
    if (live_replicas(s) == 0) conclude(self, options);
  };
  if (!s.stopping && options->stop_below && result.values.at(0) < *options->stop_below)
    stop(Ending::goal_met);
  else if (!s.stopping && s.best && s.best->exhausted())
    stop(Ending::no_better);
  if (s.evaluation_due) evaluate(self, options, *s.evaluation_due);
}

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
            take_evaluation(self, options, result,
                            [self, options, result] { go_on_evaluated(self, options, result); });
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

void tell(Self self, const OptionsPtr& options, const std::string& words) {
  auto& s = self->state;
  if (options->events && !s.over) options->events(text("step ", s.progress.step, ": ", words));
}

/// No replica takes part any more: how the run has ended, and then its last acts.
void wrap_up(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  while (!s.open_steps.empty()) complete_first_step(self, options);
  if (s.outcome.ending == Ending::steps_done &&
      (options->max_steps == 0 || s.outcome.steps < options->max_steps))
    s.outcome.ending = Ending::end_of_data;
  const bool nothing_done =
      s.outcome.ending == Ending::end_of_data && s.outcome.steps == options->first_step;
  if (nothing_done && !options->resumed_data)
    note_failure(s, Error(Code::invalid_argument,
                          "the data have ended before the first batch was full: there are fewer "
                          "rows than a batch has"));
  if (nothing_done && options->resumed_data)
    tell(self, options,
         "nothing is left to be trained on: the data end where the checkpoint stands. Ask for more "
         "epochs (--epochs), or have the data read from their beginning again "
         "(checkpoints.data_from_start, --data-from-start)");
  s.stopping = true;
  stop_replicas(self, options);
  wind_up(self, options);
}

void conclude(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (std::exchange(s.concluding, true)) return;
  if (!options->coordinator) return wrap_up(self, options);
  // A replica that was lost after its last step has not told of it.
  self->request(options->coordinator, options->patience, status_atom_v)
      .then(
          [self, options](const AggregationStatus& status) {
            auto& s = self->state;
            s.outcome.steps = std::max(s.outcome.steps, status.version);
            s.progress.step = std::max(s.progress.step, status.version);
            wrap_up(self, options);
          },
          [self, options](caf::error&) { wrap_up(self, options); });
}

// ---- replicas --------------------------------------------------------------------------------

void leave(Self self, const OptionsPtr& options, const std::string& name) {
  auto& s = self->state;
  auto& m = s.members.at(name);
  if (m.at == At::end) return;
  m.at = At::end;
  s.rules->remove(name);
  if (m.leaving) {
    tell(self, options, text(name, " has left"));
    if (options->group) self->send(options->group, leave_atom_v, m.index);
  }
  if (live_replicas(s) == 0) conclude(self, options);
}

/// It has answered with a failure, and is still there.
void take_failure(Self self, const OptionsPtr& options, const std::string& name,
                  const caf::error& error) {
  auto& m = self->state.members.at(name);
  // Nobody is to wait for it any more.
  self->send_exit(m.handle, error);
  if (options->spawn_replica && !repeats_itself(code_of(error)) && !self->state.stopping) return;
  fail_run(self, options, to_error(error), true);
  leave(self, options, name);
}

void start_replica(Self self, const OptionsPtr& options, const std::string& name) {
  const auto& m = self->state.members.at(name);
  const auto starts = m.starts;
  self->monitor(m.handle);
  if (options->coordinator) self->send(options->coordinator, expect_atom_v, m.index, m.handle);
  const auto is_it = [self, name, starts] {
    const auto& m = self->state.members.at(name);
    return m.starts == starts && m.at == At::work;
  };
  self->request(m.handle, caf::infinite, start_atom_v)
      .then(
          [=](std::uint64_t) {
            if (!is_it()) return;
            // It has told its shards, of which one may have died before it passed that on.
            const auto& m = self->state.members.at(name);
            if (options->coordinator)
              self->send(options->coordinator, leave_atom_v, std::uint32_t{0}, m.index,
                         m.handle.address());
            leave(self, options, name);
          },
          [=](caf::error& error) {
            // Of one that has died only the reason counts, which comes by another way.
            const bool is_ours = error.category() == caf::atom("troupe");
            if (is_ours && is_it()) take_failure(self, options, name, error);
          });
}

std::string list_batches(const LedgerStatus& books) {
  constexpr std::size_t kMost = 8;
  if (books.outstanding.empty()) return "nothing is computed again";
  std::int64_t records = 0;
  std::string numbers;
  for (std::size_t i = 0; i < books.outstanding.size(); ++i) {
    const auto& batch = books.outstanding[i].batch;
    records += batch.rows();
    if (i < kMost) numbers += text(i == 0 ? "" : ", ", batch.sequence);
    if (i == kMost) numbers += ", ...";
  }
  return text(books.outstanding.size() == 1 ? "batch " : "batches ", numbers, " (", records,
              records == 1 ? " record" : " records", ") computed again");
}

void restart(Self self, const OptionsPtr& options, const std::string& name) {
  auto& s = self->state;
  const auto found = s.members.find(name);
  if (found == s.members.end() || found->second.at != At::rest || s.stopping) return;
  auto& m = found->second;
  m.due = true;
  if (m.again.empty()) return;
  m.handle = options->spawn_replica(m.index, name, m.shard);
  m.at = At::work;
  ++m.starts;
  ++s.outcome.restarts;
  const auto away = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - m.lost_at);
  tell(self, options, text(name, " is started again after ", away.count(), " ms: ", m.again));
  start_replica(self, options, name);
}

/// The feeder has heard from the coordinator, so that both know of the loss: whatever the
/// coordinator decided for the one that was lost comes before its successor joins.
void ask_what_is_lost(Self self, const OptionsPtr& options, const std::string& name) {
  auto& m = self->state.members.at(name);
  m.due = false;
  m.again.clear();
  const auto take = [=](const std::string& words) {
    auto& m = self->state.members.at(name);
    m.again = words;
    if (m.due) restart(self, options, name);
  };
  if (!options->feeder) return take("its batches are unknown");
  self->request(options->feeder, options->patience, ledger_atom_v, m.index, m.handle.address())
      .then([=](const LedgerStatus& books) { take(list_batches(books)); },
            [=](caf::error& error) { take(text("its batches are unknown: ", render(error))); });
}

void take_loss(Self self, const OptionsPtr& options, const std::string& name,
               const caf::error& reason) {
  using Kind = Supervision::Verdict::Kind;
  auto& s = self->state;
  auto& m = s.members.at(name);
  if (s.stopping) return leave(self, options, name);
  const auto step = s.last_steps.find(m.index);
  if (step != s.last_steps.end()) s.rules->note(name, text("its part of step ", step->second));
  const auto verdict = s.rules->ended(name, reason, self->clock().now());
  if (verdict.kind == Kind::give_up) fail_run(self, options, to_error(verdict.failure), true);
  if (verdict.kind != Kind::restart) return leave(self, options, name);
  m.at = At::rest;
  m.lost_at = Clock::now();
  tell(self, options, verdict.words);
  ask_what_is_lost(self, options, name);
  self->delayed_send(self, verdict.delay, start_atom_v, name);
}

ConductorState::Member& add_member(ConductorState& s, const std::string& name, std::uint32_t index,
                                   const Replica& handle) {
  auto& m = s.members[name];
  m.index = index;
  m.handle = handle;
  s.rules->add({name});
  return m;
}

void expect_change(const ConductorState& s, const ConductorOptions& options) {
  if (!s.started || s.stopping || s.over || live_replicas(s) == 0 || !options.spawn_replica)
    fail(Code::failed_precondition, "replicas come and go only while a run goes on");
  if (!options.fixed.empty()) fail(Code::failed_precondition, options.fixed);
}

std::string add_replica(Self self, const OptionsPtr& options, std::uint32_t index,
                        const Shard& shard) {
  expect_change(self->state, *options);
  auto name = text("replica ", index);
  auto& s = self->state;
  s.next_index = std::max(s.next_index, index + 1);
  add_member(s, name, index, options->spawn_replica(index, name, shard)).shard = shard;
  tell(self, options, text(name, " joins"));
  start_replica(self, options, name);
  return name;
}

caf::result<std::string> add_replica(Self self, const OptionsPtr& options) {
  const auto index = self->state.next_index;
  try {
    if (!options->group) return add_replica(self, options, index, {});
    expect_change(self->state, *options);
  } catch (...) {
    return current_fault();
  }
  ++self->state.next_index;
  auto promise = self->make_response_promise<std::string>();
  self->request(options->group, options->patience, join_atom_v, index)
      .then(
          [=](const Shard& shard) mutable {
            try {
              promise.deliver(add_replica(self, options, index, shard));
            } catch (...) {
              promise.deliver(current_fault());
            }
          },
          [=](caf::error& why) mutable { promise.deliver(why); });
  return promise;
}

bool stays(const Member& m) { return m.at != At::end && !m.leaving; }

std::int64_t staying_replicas(const ConductorState& s) {
  return std::count_if(s.members.begin(), s.members.end(),
                       [](const auto& m) { return stays(m.second); });
}

std::string remove_replica(Self self, const OptionsPtr& options, std::string name) {
  auto& s = self->state;
  expect_change(s, *options);
  std::uint32_t newest = 0;
  for (const auto& [known, m] : s.members)
    if (stays(m)) newest = std::max(newest, m.index);
  if (name.empty()) name = text("replica ", newest);
  const auto found = s.members.find(name);
  if (found == s.members.end() || !stays(found->second))
    fail(Code::not_found, "no '", name, "' takes part in this run, or it is leaving already");
  if (staying_replicas(s) < 2)
    fail(Code::failed_precondition, name, " is the only replica that stays: stop the run instead");
  found->second.leaving = true;
  self->send(options->feeder, detach_atom_v, found->second.index);
  tell(self, options, text(name, " leaves when it has computed what it has"));
  return name;
}

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

/// What they wait for will not come.
void end_replicas(ConductorState& s) {
  for (const auto& [name, m] : s.members)
    if (m.at == At::work) caf::anon_send_exit(m.handle, caf::exit_reason::kill);
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

LeadingConductor::behavior_type conductor(Self self, OptionsPtr options) {
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
