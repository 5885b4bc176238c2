#include "run_stages.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "commands.h"
#include "interrupt.h"
#include "outcome_report.h"
#include "progress_line.h"
#include "say.h"
#include "topology_run.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/session.h"
#include "troupe/actors/training/fragments.h"

namespace troupe::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Turns what is told after each step into lines of progress.
class StepPrinter {
 public:
  explicit StepPrinter(const TopologyFile& file)
      : printer_(schedulable_cpus()),
        interval_(file.options.progress_interval),
        rows_(file.data.rows()) {
    progress_.max_steps = file.stages->options.max_steps;
    progress_.names = {"loss"};
    epoch_examples_ = file.data.epoch_examples();
  }

  void operator()(const std::vector<StageReport>& reports) {
    progress_.step = reports.at(0).step;
    progress_.examples += rows_;
    double loss = 0;
    for (const auto& report : reports) loss += report.loss;
    progress_.training = {loss};
    const auto now = Clock::now();
    if (now - last_ < interval_) return;
    const auto seconds = std::chrono::duration<double>(now - last_).count();
    progress_.examples_per_second =
        static_cast<double>(progress_.examples - last_examples_) / seconds;
    if (epoch_examples_ > 0)
      progress_.epoch =
          static_cast<double>(progress_.examples) / static_cast<double>(epoch_examples_);
    const auto cpu = process_cpu_time();
    progress_.cpu_use = std::chrono::duration<double>(cpu - last_cpu_).count() / seconds;
    last_ = now;
    last_cpu_ = cpu;
    last_examples_ = progress_.examples;
    printer_(progress_);
  }

 private:
  ProgressPrinter printer_;
  Clock::duration interval_;
  std::int64_t rows_;
  std::int64_t epoch_examples_ = 0;
  Progress progress_;
  Clock::time_point last_ = Clock::now();
  std::chrono::nanoseconds last_cpu_ = process_cpu_time();
  std::int64_t last_examples_ = 0;
};

/// Loss and metrics of the trained model over the evaluation set.
void evaluate(const TopologyFile& file, StagedTraining& training) {
  const auto model = file.model(false);
  const auto fragment = evaluation_fragment(model);
  Session session(model.graph, {.threads = file.options.threads});
  std::map<std::string, Tensor> values;
  for (const auto& shard : training.snapshots())
    for (const auto& tensor : shard.tensors)
      if (tensor.slot.empty()) values[tensor.variable] = tensor.values;
  session.restore(values);
  OutputList fetches{model.loss};
  for (const auto& metric : model.metrics) fetches.push_back(metric.value);
  CombinedValues combined(fragment.combines);
  BatchIterator batches(*file.options.evaluation.data, file.options.threads);
  while (const auto batch = batches.next())
    combined.add(session.run(fetches, {{model.inputs.at(0), batch->components.at(0)},
                                       {model.inputs.at(1), batch->components.at(1)}}),
                 batch->rows());
  note("test:     {}\n", values_text(fragment.values, combined.values()));
}

}  // namespace

int run_stages(const TopologyFile& file) {
  auto options = file.stages->options;
  const auto printer = std::make_shared<StepPrinter>(file);
  options.checkpoints = file.options.checkpoints;
  options.labels = file.options.labels;
  options.events = file.options.events;
  options.listener = [printer](const std::vector<StageReport>& reports) { (*printer)(reports); };
  StagedTraining training =
      of_file(file, [&] { return StagedTraining(file.stages->model, file.data, options); });
  note("{}\n", training.describe());
  std::fflush(stdout);
  bool interrupted = false;
  auto outcome = run_until_interrupted(training, interrupted);
  const auto& directory = file.options.checkpoints.directory;
  report_outcome(outcome, {"loss"});
  if (outcome.ending != Ending::failed && !interrupted && file.options.evaluation.data)
    evaluate(file, training);
  if (!outcome.checkpoint.empty())
    note("checkpoint: {} (\"troupe inspect {}\" shows it)\n", outcome.checkpoint,
         outcome.checkpoint);
  if (outcome.ending == Ending::stopped) return kExitInterrupted;
  return ending_code(outcome, directory);
}

}  // namespace troupe::cli
