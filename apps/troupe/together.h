#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "programs.h"
#include "troupe/actors/ensemble/combiner.h"
#include "troupe/messages/system_config.h"

namespace CLI {
class App;
}

namespace troupe {
class Checkpoint;
}

namespace troupe::cli {

/// What the command line says about checkpoints that answer together.
struct TogetherArguments {
  std::string combine = "mean";  ///< a combiner, or "weighted:0.7,0.3"
  std::int64_t quorum = 0;
  std::int64_t deadline_ms = 0;  ///< 0 for none
};

/// --combine, and, of those who wait for answers, --quorum and --deadline-ms.
void add_together_options(CLI::App& command, TogetherArguments& a, bool waiting);

/// What "eval" and "predict" do with several checkpoints.
struct TogetherRun {
  std::vector<std::string> checkpoints;
  std::string program;  ///< of those that do not say
  DataArguments data;
  TogetherArguments together;
  ThreadBudget threads;
};

/// Calls `rows` with the program of the first, and the combined answers to each batch, until it
/// says that it has enough. Throws UsageError for what does not fit.
using TakeRows = std::function<bool(const Program& program, const Tensor& predictions)>;
void predict_together(const TogetherRun& run, const TakeRows& take);

/// Prints how good each is alone, and all of them together.
void eval_together(const TogetherRun& run);

/// The program that a checkpoint was trained by, or that the user says if it does not.
std::string program_of(const Checkpoint& checkpoint, const std::string& given);

}  // namespace troupe::cli
