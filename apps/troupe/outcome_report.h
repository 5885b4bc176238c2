#pragma once

#include <string>
#include <vector>

#include "troupe/actors/training/training.h"

namespace troupe::cli {

/// "end of the data", "stopped", ...
const char* to_words(Ending ending);

/// "loss 0.4120, accuracy 0.8530".
std::string values_text(const std::vector<std::string>& names, const std::vector<double>& values);

/// The first lines about a run: how it ended, how long it took, loss and metrics.
void report_outcome(const TrainingOutcome& outcome, const std::vector<std::string>& names);

/// The exit code of a run. Says what failed, and how a run that was stopped goes on.
int ending_code(const TrainingOutcome& outcome, const std::string& directory);

/// All that is to be said about a run of this training; returns the exit code. `style` is
/// that of advice, and `next` says what to do after a run that has come to its end.
int report(const TrainingOutcome& outcome, const Training& training, const TrainingOptions& options,
           const std::vector<std::string>& names, KnobStyle style, const std::string& next);

}  // namespace troupe::cli
