#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "interrupt.h"
#include "outcome_report.h"
#include "progress_line.h"
#include "run_control.h"
#include "say.h"
#include "train_arguments.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

/// What to do after a run.
std::string next_step(const Program& program, const TrainingOptions& options) {
  return fmt::format(
      "next: troupe eval {0}{1} or predict {0}{2}; --replicas 2 --shards 2 --async trains with "
      "two replicas at once{3}\n",
      options.checkpoints.directory, program.eval_options, program.predict_options, program.next);
}

int train(const TrainArguments& a, bool plan) {
  const auto program = preparing([&] { return training_program(a.program, a.data); });
  auto options = training_options(a, program);
  std::vector<std::string> names;
  RunControl control(KnobStyle::flags);
  options.progress =
      [&, printer = ProgressPrinter(schedulable_cpus())](const Progress& progress) mutable {
        names = progress.names;
        control.tell(progress);
        printer(progress);
      };
  const auto training = preparing(
      [&] { return std::make_unique<Training>(program.model, *program.training, options); });
  note("{}\n", training->describe());
  std::fflush(stdout);
  if (plan) return kExitOk;

  auto listening = control.listen(control_of(a.control, options), *training);
  bool interrupted = false;
  const auto outcome = run_until_interrupted(*training, interrupted);
  listening.reset();
  const auto exit_code =
      report(outcome, *training, options, names, KnobStyle::flags, next_step(program, options));
  return stop_training(*training, options, exit_code);
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("train", "Train a model; Ctrl-C stops with a checkpoint");
  const auto a = std::make_shared<TrainArguments>();
  const auto plan = std::make_shared<bool>(false);
  add_training_options(*command, *a);
  command->get_option("program")->required();
  add_output_options(*command, *a);
  command->add_flag("--plan", *plan, "Show the topology and its memory bound; train nothing")
      ->group("Output");
  command->callback([a, plan, &exit_code] { exit_code = train(*a, *plan); });
}

}  // namespace troupe::cli
