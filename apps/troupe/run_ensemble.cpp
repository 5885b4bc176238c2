#include "run_ensemble.h"

#include <cstdio>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "interrupt.h"
#include "outcome_report.h"
#include "progress_line.h"
#include "say.h"
#include "topology_run.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/ensemble/ensemble_training.h"
#include "troupe/actors/ensemble/model_ensemble.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/training/fragments.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

/// Trains the members that are not trained yet; returns the exit code.
int train(const TopologyFile& file, const std::vector<EnsembleTopology::Member>& members) {
  const auto& o = file.options;
  EnsembleTrainingOptions together;
  together.threads = o.threads;
  together.seed = o.seed;
  together.deterministic = o.deterministic;
  together.patience = o.patience;
  std::map<std::string, std::vector<std::string>> names;
  together.progress = [&names, cpus = schedulable_cpus()](const std::string& member,
                                                          const Progress& progress) {
    names[member] = progress.names;
    note("{:<12} {}\n", member, progress_line(progress, cpus));
    std::fflush(stdout);
  };
  std::vector<TrainedMember> learners;
  for (const auto& member : members) {
    if (!member.checkpoint.empty()) continue;
    auto options = member.options;
    // A member that was not reached before has nothing to go on from.
    if (options.checkpoints.resume && !CheckpointDirectory(options.checkpoints.directory).latest())
      options.checkpoints.resume = false;
    learners.push_back({member.name, member.model, std::move(options), member.weight});
  }
  if (learners.empty()) return kExitOk;
  const auto training = of_file(
      file, [&] { return std::make_unique<EnsembleTraining>(learners, file.data, together); });
  note("{}\n", training->describe());
  stop_on_interrupt({training.get(), [](void* it) noexcept {
                       static_cast<EnsembleTraining*>(it)->request_stop();
                     }});
  const auto outcome = training->run();
  stop_on_interrupt({});
  int code = kExitOk;
  for (const auto& member : outcome.members) {
    note("member {}\n", member.name);
    report_outcome(member.training, names[member.name]);
    const auto ended = ending_code(member.training, o.checkpoints.directory);
    if (code != kExitFailed && ended != kExitOk) code = ended;
  }
  return end_after(training->stop(o.patience), o.patience, code);
}

std::string checkpoint_of(const EnsembleTopology::Member& member) {
  return member.checkpoint.empty() ? member.options.checkpoints.directory : member.checkpoint;
}

void evaluate(const TopologyFile& file, const EnsembleOptions& options,
              const std::vector<EnsembleTopology::Member>& members, const std::string& name) {
  ModelEnsemble ensemble(options, file.options.threads);
  for (const auto& member : members)
    ensemble.join(member.name, member.model, checkpoint_of(member), member.weight);
  const auto score = score_for(file.options.evaluation.data->components().back());
  CombinedValues values({score.combine});
  BatchIterator batches(*file.options.evaluation.data, file.options.threads);
  std::size_t missing = 0;
  while (const auto batch = batches.next()) {
    const auto answer = ensemble.run({batch->components.at(0)});
    const auto value = score.of(answer.outputs.at(0), batch->components.back());
    values.add({Tensor::scalar(value)}, batch->rows());
    missing += answer.missing.size();
  }
  if (values.rows() == 0) return;
  note("{:<12} {} {:.4f}{}\n", name, score.name, values.values()[0],
       missing == 0 ? "" : fmt::format(" ({} answers came too late)", missing));
}

}  // namespace

int run_ensemble(const TopologyFile& file) {
  const auto& members = file.ensemble->members;
  const auto& o = file.options;
  if (o.checkpoints.directory.empty())
    throw UsageError(
        "members of an ensemble meet in their checkpoints: --no-checkpoints is not "
        "possible here");
  note("{}\n  -> {} members, combined by {}\n", file.data.describe(), members.size(),
       file.ensemble->combiner);
  if (const auto code = train(file, members); code != kExitOk) return code;
  if (!o.evaluation.data) {
    note("the file has no evaluation {{ ... }}: nothing to compare them on\n");
    return kExitOk;
  }
  EnsembleOptions alone;
  alone.combiner = file.ensemble->options.combiner;
  note("on the evaluation set:\n");
  for (const auto& member : members) evaluate(file, alone, {member}, member.name);
  evaluate(file, file.ensemble->options, members, "together");
  return kExitOk;
}

}  // namespace troupe::cli
