#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "troupe/actors/training/training.h"

namespace troupe::cli {

/// Something that runs, and ends early when asked from a signal handler.
struct Stoppable {
  void* what = nullptr;
  void (*stop)(void*) noexcept = nullptr;
};

/// From now on Ctrl-C, SIGTERM and, unless it is ignored, SIGHUP ask for the end of this; a second
/// one ends the process.
void stop_on_interrupt(Stoppable running);
/// Whether there was a Ctrl-C.
bool was_interrupted();

/// Runs a training to its end or to Ctrl-C. `interrupted` says whether there was one.
template <class AnyTraining>
TrainingOutcome run_until_interrupted(AnyTraining& training, bool& interrupted) {
  stop_on_interrupt(
      {&training, [](void* it) noexcept { static_cast<AnyTraining*>(it)->request_stop(); }});
  auto outcome = training.run();
  stop_on_interrupt({});
  interrupted = was_interrupted();
  return outcome;
}

/// Returns `exit_code` after actors were taken down. Ends the process, naming those that are
/// left, if some have not ended within this time.
int end_after(const std::vector<std::string>& left, std::chrono::milliseconds patience,
              int exit_code);

/// Takes the actors down and returns `exit_code`. Ends the process, naming those
/// who do not end, if some are left.
int stop_training(Training& training, const TrainingOptions& options, int exit_code);

}  // namespace troupe::cli
