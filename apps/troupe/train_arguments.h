#pragma once

#include <memory>
#include <string>

#include "programs.h"

namespace CLI {
class App;
}

namespace troupe::cli {

/// What the command line says about a training run; negative or empty for the
/// program's own choice.
struct TrainArguments {
  std::string program;
  DataArguments data;
  std::string optimizer;
  std::string learning_rate;
  int replicas = 1;
  int shards = 1;
  std::uint64_t max_shard_bytes = 0;
  int backup_shards = 0;
  int devices = 1;
  std::string policy = "sync";
  std::string staleness;                  ///< put to the options of the policy
  std::vector<std::string> policies_for;  ///< of some variables: "embedding/*=async"
  std::uint32_t accumulate = 1;
  double clip_norm = 0;
  std::string compression = "none";
  std::string all_reduce = "none";
  std::string precision = "float32";
  double loss_scale = LossScaleOptions{}.initial;
  std::string not_finite = "fail";
  double round_deadline = 0;  ///< seconds
  bool leave_out_late = false;
  int restarts = 10;
  double restart_period = 600;  ///< seconds
  double restart_delay = 0.1;   ///< seconds
  std::string record;
  std::string replay;
  bool deterministic = false;
  std::string placement = "by_bytes";
  double average = -1;
  int inter_op = 0;
  int intra_op = 0;
  std::int64_t steps = -1;
  std::string directory;
  std::int64_t checkpoint_every = -1;
  int keep = 5;
  int keep_best = 0;
  double keep_every_hours = 0;
  bool no_data_state = false;
  bool data_from_start = false;
  bool resume = false;
  std::string resume_from;  ///< a step, or a path
  bool no_checkpoints = false;
  bool no_summaries = false;
  std::int64_t evaluate_every = -1;
  std::optional<double> stop_below;
  std::string best_by;  ///< "loss", "+accuracy"
  std::uint64_t patience = 0;
  double min_delta = 0;
  std::string control;  ///< the path of the run's socket; empty for its directory's
  double interval = 1;
};

/// The options that say what to train and how; all but those of the output.
void add_training_options(CLI::App& command, TrainArguments& a);
/// Those of checkpoints, summaries and progress.
void add_output_options(CLI::App& command, TrainArguments& a);

/// The program's options with what the command line says instead. Throws
/// UsageError for what does not fit together.
TrainingOptions training_options(const TrainArguments& a, const Program& program);

/// The run's own directory among those below run/: "run/NAME", or "run/NAME-2" and so on while
/// there are checkpoints of earlier runs; the last of those to resume.
std::string own_directory(const std::string& name, bool resume);

}  // namespace troupe::cli
