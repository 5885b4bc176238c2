#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "progress_line.h"
#include "say.h"
#include "train_arguments.h"
#include "troupe/actors/aggregation/aggregation_summary.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

const char* to_words(Ending ending) {
  switch (ending) {
    case Ending::steps_done:
      return "all steps done";
    case Ending::end_of_data:
      return "end of the data";
    case Ending::goal_met:
      return "goal met";
    case Ending::stopped:
      return "stopped";
    case Ending::failed:
      break;
  }
  return "failed";
}

std::string values_text(const std::vector<std::string>& names, const std::vector<double>& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size() && i < names.size(); ++i)
    text += fmt::format("{}{} {:.4f}", i == 0 ? "" : ", ", names[i], values[i]);
  return text;
}

int report(const TrainingOutcome& outcome, const Training& training, const Program& program,
           const TrainingOptions& options, const std::vector<std::string>& names) {
  const double seconds = std::chrono::duration<double>(outcome.elapsed).count();
  note("{}: step {}, {} samples in {} ({} samples/s), first step after {:.2f} s\n",
       to_words(outcome.ending), with_commas(outcome.steps),
       with_commas(static_cast<std::uint64_t>(outcome.examples)), clock_time(seconds),
       with_commas(static_cast<std::uint64_t>(static_cast<double>(outcome.examples) / seconds)),
       std::chrono::duration<double>(outcome.until_first_step).count());
  if (!outcome.training.empty()) note("training: {}\n", values_text(names, outcome.training));
  if (!outcome.evaluation.empty()) note("test:     {}\n", values_text(names, outcome.evaluation));
  note("{}", aggregation_summary(outcome.aggregation));
  if (outcome.ending != Ending::failed) note("{}", summary(training.explain(), KnobStyle::flags));
  if (!outcome.checkpoint.empty())
    note("checkpoint: {} (safetensors and a manifest; \"troupe inspect {}\" shows it)\n",
         outcome.checkpoint, outcome.checkpoint);
  if (!options.summary_directory.empty())
    note("summaries:  {} (tensorboard --logdir {})\n", options.summary_directory,
         options.summary_directory);
  if (outcome.ending == Ending::failed) {
    complain("troupe: {}: {}", to_string(outcome.code), in_plain_words(outcome.message));
    return kExitFailed;
  }
  if (outcome.ending == Ending::stopped) {
    if (!outcome.checkpoint.empty())
      note("go on with the same command and --resume -d {}\n", options.checkpoints.directory);
    return kExitInterrupted;
  }
  if (!outcome.checkpoint.empty())
    note(
        "next: troupe eval {0}{1} or predict {0}{2}; --replicas 2 --shards 2 --async trains with "
        "two replicas at once{3}\n",
        options.checkpoints.directory, program.eval_options, program.predict_options, program.next);
  return kExitOk;
}

int train(const TrainArguments& a, bool plan) {
  const auto program = preparing([&] { return training_program(a.program, a.data); });
  auto options = training_options(a, program);
  std::vector<std::string> names;
  options.progress =
      [&names, printer = ProgressPrinter(schedulable_cpus())](const Progress& progress) mutable {
        names = progress.names;
        printer(progress);
      };
  const auto training = preparing(
      [&] { return std::make_unique<Training>(program.model, *program.training, options); });
  note("{}\n", training->describe());
  std::fflush(stdout);
  if (plan) return kExitOk;

  bool interrupted = false;
  const auto outcome = run_until_interrupted(*training, interrupted);
  const auto exit_code = report(outcome, *training, program, options, names);
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
