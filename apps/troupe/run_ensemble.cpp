#include "run_ensemble.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "commands.h"
#include "ensemble_control.h"
#include "interrupt.h"
#include "outcome_report.h"
#include "progress_line.h"
#include "run_control.h"
#include "say.h"
#include "topology_run.h"
#include "troupe/actors/ensemble/ensemble_training.h"
#include "troupe/actors/ensemble/model_ensemble.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/training/fragments.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

using Member = EnsembleTopology::Member;

TrainedMember learner(const Member& member) {
  auto options = member.options;
  options.checkpoints.resume = false;  // as all of them are, or are not
  options.events = {};                 // those of all say whose they are
  return {member.name, member.model, std::move(options), member.weight};
}

/// A member of another topology file, as one that is trained in this run.
Member member_of(const std::string& path, const std::string& name, RunArguments a,
                 const std::string& directory) {
  auto file = read_topology(path);
  a.directory = directory;
  complete(file, a);
  std::string names;
  if (file.ensemble)
    for (const auto& member : file.ensemble->members) {
      names += (names.empty() ? "; there are: " : ", ") + member.name;
      if (member.name != name) continue;
      if (!member.checkpoint.empty())
        fail(Code::failed_precondition, path, ": member '", name, "' is trained already (",
             member.checkpoint, "): only those that are to learn can join");
      return member;
    }
  fail(Code::not_found, path, " has no member '", name, "'", names);
}

template <class Members>
bool has(const Members& members, const std::string& name) {
  return std::any_of(members.begin(), members.end(),
                     [&](const auto& member) { return member.name == name; });
}

/// Trains the members that are not trained yet; returns the exit code. Those that join meanwhile
/// are added.
int train(const TopologyFile& file, std::vector<Member>& members, const RunArguments& a) {
  const auto& o = file.options;
  EnsembleTrainingOptions together;
  together.threads = o.threads;
  together.devices = o.devices;
  together.seed = o.seed;
  together.deterministic = o.deterministic;
  together.resume = o.checkpoints.resume;
  together.events = o.events;
  together.patience = o.patience;
  std::map<std::string, std::vector<std::string>> names;
  EnsembleControl control;
  together.progress = [&names, &control, cpus = schedulable_cpus()](const std::string& member,
                                                                    const Progress& progress) {
    names[member] = progress.names;
    control.tell(member, progress);
    note("{:<12} {}\n", member, progress_line(progress, cpus));
    std::fflush(stdout);
  };
  std::vector<TrainedMember> learners;
  for (const auto& member : members)
    if (member.checkpoint.empty()) learners.push_back(learner(member));
  if (learners.empty()) return kExitOk;
  const auto training = of_file(
      file, [&] { return std::make_unique<EnsembleTraining>(learners, file.data, together); });
  note("{}\n", training->describe());
  stop_on_interrupt({training.get(), [](void* it) noexcept {
                       static_cast<EnsembleTraining*>(it)->request_stop();
                     }});
  std::vector<Member> joined;
  auto listening = control.listen(
      control_of(a.control, o), *training, [&](const std::string& path, const std::string& name) {
        auto member = member_of(path, name, a, o.checkpoints.directory);
        std::erase_if(joined, [&](const auto& one) { return one.name == name; });  // was refused
        joined.push_back(member);
        return learner(member);
      });
  const auto outcome = training->run();
  listening.reset();
  stop_on_interrupt({});
  for (const auto& one : joined)
    if (has(outcome.members, one.name) && !has(members, one.name)) members.push_back(one);
  int code = kExitOk;
  for (const auto& member : outcome.members) {
    note("member {}\n", member.name);
    report_outcome(member.training, names[member.name]);
    const auto ended = ending_code(member.training, o.checkpoints.directory);
    if (code != kExitFailed && ended != kExitOk) code = ended;
  }
  return end_after(training->stop(o.patience), o.patience, code);
}

std::string checkpoint_of(const Member& member) {
  return member.checkpoint.empty() ? member.options.checkpoints.directory : member.checkpoint;
}

void evaluate(const TopologyFile& file, const EnsembleOptions& options,
              const std::vector<Member>& members, const std::string& name) {
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

int run_ensemble(const TopologyFile& file, const RunArguments& a) {
  auto members = file.ensemble->members;
  const auto& o = file.options;
  if (o.checkpoints.directory.empty())
    throw UsageError(
        "members of an ensemble meet in their checkpoints: --no-checkpoints is not "
        "possible here");
  note("{}\n  -> {} members, combined by {}\n", file.data.describe(), members.size(),
       file.ensemble->combiner);
  if (const auto code = train(file, members, a); code != kExitOk) return code;
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
