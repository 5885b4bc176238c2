#include "outcome_report.h"

#include <fmt/format.h>

#include "commands.h"
#include "progress_line.h"
#include "say.h"
#include "troupe/actors/aggregation/aggregation_summary.h"
#include "usage_error.h"

namespace troupe::cli {

const char* to_words(Ending ending) {
  switch (ending) {
    case Ending::steps_done:
      return "all steps done";
    case Ending::end_of_data:
      return "end of the data";
    case Ending::goal_met:
      return "goal met";
    case Ending::no_better:
      return "no better for a while";
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

void report_outcome(const TrainingOutcome& outcome, const std::vector<std::string>& names) {
  const double seconds = std::chrono::duration<double>(outcome.elapsed).count();
  note("{}: step {}, {} samples in {} ({} samples/s), first step after {:.2f} s\n",
       to_words(outcome.ending), with_commas(outcome.steps),
       with_commas(static_cast<std::uint64_t>(outcome.examples)), clock_time(seconds),
       with_commas(static_cast<std::uint64_t>(static_cast<double>(outcome.examples) / seconds)),
       std::chrono::duration<double>(outcome.until_first_step).count());
  if (!outcome.training.empty()) note("training: {}\n", values_text(names, outcome.training));
  if (!outcome.evaluation.empty()) note("test:     {}\n", values_text(names, outcome.evaluation));
}

int ending_code(const TrainingOutcome& outcome, const std::string& directory) {
  if (outcome.ending == Ending::failed) {
    complain("troupe: {}: {}", to_string(outcome.code), in_plain_words(outcome.message));
    return kExitFailed;
  }
  if (outcome.ending != Ending::stopped) return kExitOk;
  if (!outcome.checkpoint.empty())
    note("go on with the same command and --resume -d {}\n", directory);
  return kExitInterrupted;
}

/// An event has said why when nobody can.
void explain_run(const Training& training, KnobStyle style) {
  try {
    note("{}", summary(training.explain(), style));
  } catch (const Error&) {
  }
}

int report(const TrainingOutcome& outcome, const Training& training, const TrainingOptions& options,
           const std::vector<std::string>& names, KnobStyle style, const std::string& next) {
  report_outcome(outcome, names);
  note("{}", aggregation_summary(outcome.aggregation));
  if (outcome.restarts > 0)
    note("restarts:   {}; {} samples were handed out again\n", outcome.restarts,
         with_commas(static_cast<std::uint64_t>(outcome.records_repeated)));
  if (outcome.records_lost > 0)
    note("left out:   {} samples, with gradients that are not finite\n",
         with_commas(static_cast<std::uint64_t>(outcome.records_lost)));
  if (outcome.ending != Ending::failed) explain_run(training, style);
  if (!outcome.checkpoint.empty())
    note("checkpoint: {} (safetensors and a manifest; \"troupe inspect {}\" shows it)\n",
         outcome.checkpoint, outcome.checkpoint);
  if (!options.summary_directory.empty())
    note("summaries:  {} (tensorboard --logdir {})\n", options.summary_directory,
         options.summary_directory);
  const auto code = ending_code(outcome, options.checkpoints.directory);
  if (code == kExitOk && !outcome.checkpoint.empty()) note("{}", next);
  return code;
}

}  // namespace troupe::cli
