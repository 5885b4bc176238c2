#include "troupe/actors/training/conductor_evaluations.h"

#include <caf/actor_cast.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/actors/training/conductor_ending.h"
#include "troupe/actors/training/evaluator.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ConductorSelf;
using OptionsPtr = ConductorOptionsPtr;

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

/// Ends the run if that is what the evaluation means.
void go_on_evaluated(Self self, const OptionsPtr& options, const EvaluationResult& result) {
  auto& s = self->state;
  s.evaluating = false;
  if (!s.stopping && options->stop_below && result.values.at(0) < *options->stop_below)
    stop_run(self, options, Ending::goal_met);
  else if (!s.stopping && s.best && s.best->exhausted())
    stop_run(self, options, Ending::no_better);
  if (s.evaluation_due) evaluate(self, options, *s.evaluation_due);
}

}  // namespace

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

}  // namespace troupe
