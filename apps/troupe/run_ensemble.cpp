#include "run_ensemble.h"

#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "interrupt.h"
#include "outcome_report.h"
#include "progress_line.h"
#include "say.h"
#include "topology_run.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/ensemble/model_ensemble.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/session.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/metrics.h"
#include "troupe/ops/state.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

/// How good answers are: the accuracy where labels are classes, else the root of the mean of
/// the squared errors.
class Score {
 public:
  Score(const TensorSpec& answers, const TensorSpec& labels) {
    graph_ = std::make_shared<Graph>();
    answers_ = placeholder(*graph_, "answers", answers.dtype, answers.shape);
    labels_ = placeholder(*graph_, "labels", labels.dtype, labels.shape);
    classes_ = labels.dtype == DType::int64 || labels.dtype == DType::int32;
    score_ =
        classes_ ? nn::accuracy(answers_, labels_) : nn::root_mean_squared_error(answers_, labels_);
    session_ = std::make_unique<Session>(graph_, SessionOptions{.threads = {1, 1}});
    values_ = std::make_unique<CombinedValues>(
        std::vector<Combine>{classes_ ? Combine::mean : Combine::root_mean_square});
  }
  void add(const Tensor& answers, const Tensor& labels) {
    values_->add({session_->run(score_, {{answers_, answers}, {labels_, labels}})},
                 labels.shape()[0]);
  }
  std::string words() const {
    return fmt::format("{} {:.4f}", classes_ ? "accuracy" : "rmse", values_->values()[0]);
  }

 private:
  GraphPtr graph_;
  Output answers_, labels_, score_;
  bool classes_ = false;
  std::unique_ptr<Session> session_;
  std::unique_ptr<CombinedValues> values_;
};

/// Trains one member; returns the exit code.
int train(const TopologyFile& file, const EnsembleTopology::Member& member) {
  auto options = member.options;
  std::vector<std::string> names;
  options.progress =
      [&names, printer = ProgressPrinter(schedulable_cpus())](const Progress& progress) mutable {
        names = progress.names;
        printer(progress);
      };
  note("member {}\n", member.name);
  // A member that was not reached before has nothing to go on from.
  if (options.checkpoints.resume && !CheckpointDirectory(options.checkpoints.directory).latest())
    options.checkpoints.resume = false;
  const auto training =
      of_file(file, [&] { return std::make_unique<Training>(member.model, file.data, options); });
  bool interrupted = false;
  const auto outcome = run_until_interrupted(*training, interrupted);
  report_outcome(outcome, names);
  const auto code = ending_code(outcome, file.options.checkpoints.directory);
  return stop_training(*training, options, code);
}

std::string checkpoint_of(const EnsembleTopology::Member& member) {
  return member.checkpoint.empty() ? member.options.checkpoints.directory : member.checkpoint;
}

void evaluate(const TopologyFile& file, const EnsembleOptions& options,
              const std::vector<EnsembleTopology::Member>& members, const std::string& name) {
  ModelEnsemble ensemble(options, file.options.threads);
  for (const auto& member : members)
    ensemble.join(member.name, member.model, checkpoint_of(member), member.weight);
  std::unique_ptr<Score> score;
  BatchIterator batches(*file.options.evaluation.data, file.options.threads);
  std::size_t missing = 0;
  while (const auto batch = batches.next()) {
    const auto answer = ensemble.run({batch->components.at(0)});
    const auto& output = answer.outputs.at(0);
    const auto& labels = batch->components.at(1);
    const auto any_rows = [](const Tensor& tensor) {
      return TensorSpec{tensor.dtype(), tensor.shape().without_first().with_first(Shape::kUnknown)};
    };
    if (!score) score = std::make_unique<Score>(any_rows(output), any_rows(labels));
    score->add(output, labels);
    missing += answer.missing.size();
  }
  if (!score) return;
  note("{:<12} {}{}\n", name, score->words(),
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
  for (const auto& member : members) {
    if (!member.checkpoint.empty()) continue;
    const auto code = train(file, member);
    if (code != kExitOk) return code;
  }
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
