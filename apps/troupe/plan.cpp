#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "commands.h"
#include "interrupt.h"
#include "say.h"
#include "topology_arguments.h"
#include "topology_run.h"
#include "troupe/actors/topology/topology_plan.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

struct PlanArguments {
  bool explain = false;
  std::uint64_t measure = 0;  ///< steps
};

/// Makes so many steps, keeps nothing of them, and says what they took.
int measure(const std::string& title, const TopologyFile& file, const ModelFunction& model,
            TrainingOptions options, std::uint64_t steps) {
  options.max_steps = steps;
  options.checkpoints = {};
  options.summary_directory.clear();
  options.evaluation = {};
  const auto training =
      of_file(file, [&] { return std::make_unique<Training>(model, file.data, options); });
  bool interrupted = false;
  const auto outcome = run_until_interrupted(*training, interrupted);
  if (outcome.ending == Ending::failed) {
    complain("troupe: {}: {}", to_string(outcome.code), in_plain_words(outcome.message));
    return stop_training(*training, options, kExitFailed);
  }
  const auto seconds =
      std::chrono::duration<double>(outcome.elapsed - outcome.until_first_step).count();
  note("\nmeasured: {}, {} steps: {:.3g} ms a step after the first\n", title, outcome.steps,
       outcome.steps > 1 ? 1000 * seconds / static_cast<double>(outcome.steps - 1) : 0.0);
  const auto explanation = training->explain();
  note("{}\n{}", activity_table(explanation), summary(explanation, KnobStyle::fields));
  return stop_training(*training, options, interrupted ? kExitInterrupted : kExitOk);
}

int plan(const TopologyFile& file, const PlanArguments& a) {
  bool first = true;
  for (const auto& each : plans_of(file)) {
    say("{}{}", first ? "" : "\n", describe(each, a.explain));
    first = false;
  }
  if (a.measure == 0) return kExitOk;
  std::fflush(stdout);
  if (file.stages)
    throw UsageError(
        "--measure: stages cannot be measured apart from a run: troupe run --set "
        "max_steps=20");
  if (!file.ensemble) return measure(file.name, file, file.model, file.options, a.measure);
  for (const auto& member : file.ensemble->members) {
    if (!member.checkpoint.empty()) continue;
    const auto code =
        measure("member " + member.name, file, member.model, member.options, a.measure);
    if (code != kExitOk) return code;
  }
  return kExitOk;
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "plan", "Check a topology file and say what it would start; starts nothing");
  const auto topology = std::make_shared<TopologyArguments>();
  const auto a = std::make_shared<PlanArguments>();
  add_topology_options(*command, *topology);
  command->add_flag("--explain", a->explain,
                    "Where everything is and why, what goes from whom to whom, and what a step "
                    "takes");
  command
      ->add_option("--measure", a->measure,
                   "Make so many steps, keep nothing of them, and say what they took")
      ->check(at_least(2));
  command->callback([topology, a, &exit_code] {
    exit_code = with_topology(*topology, [&](TopologyFile& file) {
      complete(file, {});
      return plan(file, *a);
    });
  });
}

}  // namespace troupe::cli
