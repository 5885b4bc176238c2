#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "commands.h"
#include "interrupt.h"
#include "outcome_report.h"
#include "progress_line.h"
#include "run_control.h"
#include "run_ensemble.h"
#include "run_stages.h"
#include "say.h"
#include "topology_arguments.h"
#include "topology_run.h"
#include "train_arguments.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

int run_training(TopologyFile& file, const RunArguments& a) {
  std::vector<std::string> names;
  RunControl control(KnobStyle::fields);
  auto& options = file.options;
  options.progress =
      [&, printer = ProgressPrinter(schedulable_cpus())](const Progress& progress) mutable {
        names = progress.names;
        control.tell(progress);
        printer(progress);
      };
  const auto training =
      of_file(file, [&] { return std::make_unique<Training>(file.model, file.data, options); });
  note("{}\n", training->describe());
  std::fflush(stdout);
  auto listening = control.listen(control_of(a.control, options), *training);
  bool interrupted = false;
  const auto outcome = run_until_interrupted(*training, interrupted);
  listening.reset();
  const auto next =
      fmt::format("next: troupe inspect {}; --set replicas=2 changes a field for one run\n",
                  options.checkpoints.directory);
  const auto code = report(outcome, *training, options, names, KnobStyle::fields, next);
  return stop_training(*training, options, code);
}

int run(const TopologyArguments& topology, const RunArguments& a) {
  return with_topology(topology, [&](TopologyFile& file) {
    complete(file, a);
    if (file.ensemble) return run_ensemble(file, a);
    if (file.stages) return run_stages(file);
    return run_training(file, a);
  });
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("run", "Train what a topology file describes; Ctrl-C stops it");
  const auto topology = std::make_shared<TopologyArguments>();
  const auto a = std::make_shared<RunArguments>();
  add_topology_options(*command, *topology);
  command->add_option("--directory,-d", a->directory,
                      "For checkpoints and summaries, instead of the file's [run/NAME, -2 ...]");
  auto* resume =
      command->add_flag("--resume", a->resume, "Go on from the newest checkpoint in the directory");
  command->add_flag("--no-checkpoints", a->no_checkpoints, "Write none")->excludes(resume);
  command->add_option("--control", a->control,
                      "A path for the socket that \"troupe edit\" talks to [control.sock in the "
                      "directory of the checkpoints]");
  command->add_flag("--no-summaries", a->no_summaries, "Write no TensorBoard files");
  command->add_option("--progress-interval", a->interval, "Seconds between lines of progress")
      ->check(between(0.1, 3600));
  command->callback([topology, a, &exit_code] { exit_code = run(*topology, *a); });
}

}  // namespace troupe::cli
