#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/stages/stage_leader.h"
#include "troupe/actors/stages/stage_order.h"
#include "troupe/actors/stages/stage_program.h"
#include "troupe/actors/training/training.h"
#include "troupe/messages/system_config.h"

namespace troupe {

struct StagedTrainingOptions {
  /// Into how many parts each batch is cut. The share of the time in which P stages wait for
  /// the first and for the last of M micro-batches is (P - 1) / (M + P - 1) at best.
  int micro_batches = 4;
  StageSchedule schedule = StageSchedule::one_forward_one_back;
  OptimizerConfig optimizer = optim::momentum(0.9);
  Schedule learning_rate = 0.01;
  /// inter_op: threads of all actors. intra_op: threads of each stage's device.
  ThreadBudget threads;
  std::uint64_t seed = 1;
  std::uint64_t max_steps = 0;  ///< those before a resume included; 0: until the data end
  /// Ordered data, so that a run has the same bits each time and after a resume.
  bool deterministic = false;
  /// Variables and slots of all stages at one step, and the data as they stand then, so that a run
  /// that is resumed trains on the same records as one that was never interrupted. There are no
  /// evaluations that could find the best ones: keep_best must be 0.
  CheckpointOptions checkpoints;
  std::map<std::string, std::string> labels;  ///< kept in every checkpoint
  StepListener listener;                      ///< called by an actor, after each step
  EventListener events;  ///< what a resumed run could not go on with; a disk that is too slow
};

/// Trains a model that is cut into stages, each an actor with a CPU device of its own,
/// through which the micro-batches of a step go forward and back. The weights after a step
/// are those of the uncut model with the whole batch, to rounding.
class StagedTraining {
 public:
  /// Cuts the model and starts nothing yet. Throws invalid_argument for options that make no
  /// sense and data that do not fit, and as cut_into_stages().
  StagedTraining(const StagedModel& model, Batches data, StagedTrainingOptions options);
  ~StagedTraining();
  StagedTraining(const StagedTraining&) = delete;
  StagedTraining& operator=(const StagedTraining&) = delete;

  /// Stages with their variables and bytes, schedule, and the bubble that it has at best.
  std::string describe() const;

  /// Runs to the end. A failure of any actor is an outcome with the first cause and the stage,
  /// not an exception. Call it once.
  TrainingOutcome run();

  /// Ends the run after the step in progress. From any thread and from signal handlers.
  void request_stop() noexcept { stop_requested_.store(true); }

  /// Variables and slots of each stage, as a CheckpointWriter takes them. After run().
  std::vector<ShardSnapshot> snapshots();

  /// Writes them as a checkpoint without data to a directory, other than that of
  /// StagedTrainingOptions::checkpoints; returns its path. `state` is what else it is to hold.
  /// After run(). Throws as CheckpointWriter.
  std::string save(const std::string& directory,
                   const std::map<std::string, std::string>& state = {});

 private:
  struct Running;
  Batches data_;
  StagedTrainingOptions options_;
  std::vector<StageProgram> programs_;
  std::unique_ptr<Running> running_;
  std::atomic<bool> stop_requested_{false};
};

}  // namespace troupe
