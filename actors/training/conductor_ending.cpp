#include "troupe/actors/training/conductor_ending.h"

#include <algorithm>
#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <memory>
#include <string>
#include <utility>

#include "troupe/actors/training/conductor_evaluations.h"
#include "troupe/actors/training/conductor_progress.h"
#include "troupe/actors/training/conductor_replicas.h"
#include "troupe/actors/training/conductor_steps.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ConductorSelf;
using OptionsPtr = ConductorOptionsPtr;
using Clock = ConductorState::Clock;
using At = ConductorState::Member::At;

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

/// The first failure is the cause; what follows from it is not told.
void note_failure(ConductorState& s, const Error& error) {
  if (s.outcome.ending == Ending::failed) return;
  s.outcome.ending = Ending::failed;
  s.outcome.code = error.code();
  s.outcome.message = error.what();
}

// ---- the last checkpoint, the last evaluation ------------------------------------------------

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

}  // namespace

void stop_replicas(Self self, const OptionsPtr& options) {
  // Before any replica can leave because of it.
  if (options->coordinator) self->send(options->coordinator, stop_atom_v);
  for (auto& [name, m] : self->state.members) {
    if (m.at == At::work) caf::anon_send(m.handle, stop_atom_v);
    if (m.at == At::rest) m.at = At::end;
  }
  if (options->whole_sets)
    self->send(options->feeder, detach_atom_v, std::uint32_t{LeftBatch::kAnyReplica});
  for (const auto& [name, decoder] : options->decoders) caf::anon_send(decoder, stop_atom_v);
  // A queue that nobody fills any more must not hold anybody up.
  caf::anon_send(options->examples, caf::close_atom_v,
                 CloseRequest{true, {Code::cancelled, "the training run is stopping"}});
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

void stop_run(Self self, const OptionsPtr& options, Ending why) {
  auto& s = self->state;
  s.outcome.ending = why;
  s.stopping = true;
  stop_replicas(self, options);
  if (s.started && live_replicas(s) == 0) conclude(self, options);
}

void stop_when_asked(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  if (!s.stopping) {
    stop_run(self, options, Ending::stopped);
  } else if (std::exchange(s.evaluating_last, false)) {
    s.outcome.ending = Ending::stopped;
    end(self, options);
  }
}

}  // namespace troupe
