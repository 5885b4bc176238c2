#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/ensemble/ensemble_scores.h"
#include "troupe/actors/training/training.h"

namespace troupe {

/// A member of an ensemble that is to be trained.
struct TrainedMember {
  std::string name;  ///< without '/' and without '.' in front
  ModelFunction model;
  /// Of its own training: replicas, shards, optimizer, policy, steps, evaluations, seed of its
  /// weights ... Its threads and devices are those of all, its data come from the broadcast,
  /// and its checkpoints are in EnsembleTrainingOptions::directory where that is set. With
  /// checkpoints.resume it must have one to go on from.
  TrainingOptions options;
  double weight = 1;  ///< in the combination
};

struct EnsembleTrainingOptions {
  ThreadBudget threads;  ///< of all members together
  /// CPU devices that all members share, as TrainingOptions::devices describes them. The replicas
  /// of all members are dealt out over them, but for members that name one
  /// (TrainingOptions::device).
  int devices = 1;
  std::uint64_t seed = 1;      ///< order of the batches
  std::int64_t max_lag = 4;    ///< batches that the slowest member may be behind the fastest
  bool deterministic = false;  ///< every member has the same bits at every run
  bool fail_fast = false;      ///< when a member fails, all others are stopped
  std::string directory;       ///< each member's checkpoints are below it, by name; empty for none
  /// Each member goes on from its newest checkpoint. One that has none begins anew: with the batch
  /// that it began with in the run that is resumed, or, if it is new, with the first that nobody
  /// has had.
  bool resume = false;
  /// What members are evaluated on while they are trained, unless they say so themselves, and
  /// what they and their combination are scored on at the end. Each member keeps it in memory.
  std::optional<Batches> evaluation;
  Combiner combiner = mean_combiner();
  std::optional<Score> score;  ///< none: score_for() the last component of the evaluation set
  /// One call at a time, with the name of the member.
  std::function<void(const std::string&, const Progress&)> progress;
  EventListener events;                       ///< of all members, "member 'a': step 7: ..."
  std::chrono::milliseconds patience{30000};  ///< for everybody to stop
};

struct MemberOutcome {
  std::string name;
  TrainingOutcome training;
  Parameters weights;           ///< at the end, where there was an evaluation set
  std::optional<double> score;  ///< alone, on the evaluation set
};

struct EnsembleOutcome {
  std::vector<MemberOutcome> members;  ///< in the order in which they joined
  std::string score_name;
  std::optional<double> together;  ///< the score of the combination of all that have not failed
  std::string not_scored;          ///< why there is none
  bool failed() const;             ///< some member has
};

/// Members of different models, trained side by side on one stream of batches, which is read
/// and decoded once:
///
///   EnsembleTraining training({{"mlp", mlp, options}, {"cnn", cnn, options}}, batches,
///                             {.directory = "run/ensemble", .evaluation = test});
///   const auto outcome = training.run();
///
/// Each member is a Training of its own. One that fails is reported, and the others go on.
///
/// With checkpoints that have the data in them (CheckpointOptions::data) the order of the batches
/// is that of Batches::in_order(), and a run that is resumed trains each member on every batch
/// once, in the same order, wherever each of them stands: the stream begins again where the one
/// stands that is farthest behind, and the others pass over what they have had.
class EnsembleTraining {
 public:
  /// Throws as Training does, naming the member, and as expect_members_fit() where there is an
  /// evaluation set. When members are to be resumed it throws also what is wrong with their
  /// checkpoints. Starts nothing yet.
  EnsembleTraining(std::vector<TrainedMember> members, const Batches& data,
                   EnsembleTrainingOptions options);
  ~EnsembleTraining();
  EnsembleTraining(const EnsembleTraining&) = delete;
  EnsembleTraining& operator=(const EnsembleTraining&) = delete;

  std::string describe() const;

  /// Runs until all members have ended, each in its own way. Call it once.
  EnsembleOutcome run();

  /// One more member, which begins with the next batch that nobody has had, even if its weights
  /// are resumed. From any thread but
  /// a listener's, before the run has ended; throws failed_precondition after it, and as the
  /// constructor.
  void join(TrainedMember member);
  /// Ends one member after the step that it is in, with a checkpoint. From any thread; throws
  /// not_found.
  void leave(const std::string& name);

  /// The names of all members, in the order in which they joined, and whether they are still
  /// learning. From any thread.
  std::vector<std::pair<std::string, bool>> members() const;
  /// Calls `change` with the training of a member, to look at it or to do what a Training lets
  /// any thread do. From any thread, while the run goes on; throws not_found.
  void change(const std::string& name, const std::function<void(Training&)>& change);
  /// To change who reads and decodes the batches of all members; while the run goes on.
  PipelineEdits edits();

  /// Ends all members after their steps in progress, with checkpoints. From any thread and from
  /// signal handlers.
  void request_stop() noexcept;

  /// Takes everything down. Returns, at the latest after the deadline for each member, the
  /// names of those that have not ended.
  std::vector<std::string> stop(std::chrono::milliseconds deadline);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
