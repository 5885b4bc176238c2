#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "troupe/actors/aggregation/aggregation_options.h"
#include "troupe/actors/explain/explanation.h"
#include "troupe/actors/parameters/placement.h"
#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/supervision/restart_budget.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/actors/training/loss_scale.h"
#include "troupe/actors/training/model.h"
#include "troupe/actors/training/progress.h"
#include "troupe/actors/training/publisher.h"
#include "troupe/messages/data_state.h"
#include "troupe/messages/protocol.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/optim/optimizer.h"
#include "troupe/ops/optim/schedule.h"

namespace troupe {

struct EvaluationOptions {
  std::optional<Batches> data;       ///< the evaluation set: ordered, one pass
  std::uint64_t every = 0;           ///< steps between evaluations; 0 for one at the end
  std::optional<double> stop_below;  ///< end the run when the evaluation loss is below this
  /// What makes one evaluation better than another: "loss", or the name of a metric.
  std::string best_by = "loss";
  bool larger_is_better = false;
  double min_delta = 0;        ///< what is better by less is not better
  std::uint64_t patience = 0;  ///< end the run after so many that are no better; 0: never
  /// Answer with the best evaluation and its weights, which checkpoints.keep_best must keep.
  bool answer_best = false;
};

struct CheckpointOptions {
  std::string directory;        ///< empty for none
  std::uint64_t every = 0;      ///< steps; 0 for one at the end
  int keep = 5;                 ///< the newest ones; 0 keeps all
  int keep_best = 0;            ///< the weights of so many best evaluations, in `directory`/best
  double keep_every_hours = 0;  ///< the first of each such time, for good; 0: none
  bool resume = false;          ///< go on from the newest one in `directory`
  /// With everything that is on its way from the files to the replicas: positions in the files,
  /// what is in the queue, batches that are part of no update yet. A run that is resumed then
  /// trains on the same records in the same order as one that was never interrupted.
  bool data = true;
  /// Resume with the weights alone, and read the data from the beginning.
  bool data_from_start = false;
  /// Go on from this one instead: a path as Checkpoint::open() takes it. `directory` may
  /// hold it, but no newer one.
  std::string resume_from;
};

struct TrainingOptions {
  OptimizerConfig optimizer = optim::momentum(0.9);
  Schedule learning_rate = 0.01;
  int replicas = 1;
  int shards = 1;
  /// How gradients become updates. With "sync" every batch is split over the replicas, and
  /// one update is made with the mean of their gradients; with "async" each replica takes
  /// whole batches and updates on its own.
  AggregationOptions aggregation;
  /// Of the numbers that are multiplied in products and convolutions: float32, bfloat16 or
  /// float16. Weights, sums and updates stay float32. With float16 the loss is scaled, and
  /// a step whose gradients do not fit is left out (NotFinite::skip). See AutocastScope.
  DType precision = DType::float32;
  LossScaleOptions loss_scale;  ///< with float16
  bool deterministic = false;   ///< the same bits at every run: ordered data, ordered sums
  VariablePlacement placement = VariablePlacement::by_bytes;
  /// Variables of more bytes are cut by rows over the shards; 0 for none.
  std::uint64_t max_shard_bytes = 0;
  /// Variables of which the model only reads rows (embeddings) are pulled and pushed by rows,
  /// so that a step costs as much as its batch, whatever their size.
  TableOptions tables;
  /// Copies of each shard, one of which takes its place when it dies: nothing that a replica
  /// was told is lost.
  int backup_shards = 0;
  /// Moving average of all weights, which evaluations then measure; 0 for none. After n
  /// updates the decay is (1 + n) / (10 + n) at most.
  double average_decay = 0;
  ThreadBudget threads;
  /// CPU devices, each with its own `intra_op` threads; where that is 0, the CPUs are shared
  /// out among them. Replica i runs on device i modulo their number, evaluations on the first.
  /// A model that asks for devices (DeviceScope) runs on all of them together, placed as
  /// place() does it, whichever replica it belongs to. With one, nobody is asked.
  int devices = 1;
  /// The one of them that everything runs on, whatever the model asks for: "/cpu:1"; empty for all.
  std::string device;
  std::uint64_t seed = 1;
  std::uint64_t max_steps =
      0;  ///< updates of the parameters, those before a resume included; 0: until the data end
  bool gradient_norm = false;  ///< report the sum of l2_loss of all gradients at each step
  EvaluationOptions evaluation;
  CheckpointOptions checkpoints;
  PublishOptions publish;  ///< of the weights while they are trained, where somebody takes them
  std::string summary_directory;              ///< for TensorBoard; empty for none
  std::map<std::string, std::string> labels;  ///< kept in every checkpoint: the program's name ...
  ProgressListener progress;
  std::chrono::milliseconds progress_interval{1000};
  /// Of replicas that are lost: they come back and compute again what they had. With
  /// restarts.most = 0 the first loss ends the run.
  RestartOptions restarts;
  EventListener events;  ///< replicas that are lost, come or go; late replicas, gradients left out,
                         ///< changes of the policy ...
  /// Told when nothing has moved for ten seconds, with who waits for whom.
  std::function<void(const std::string&)> stalled;
  std::chrono::milliseconds patience{30000};  ///< for everybody to stop
};

class Troupe;
class TrainingDevices;

/// What a run has of somebody else's when it is part of something larger.
struct TrainingHost {
  Troupe* troupe = nullptr;  ///< on whose threads its actors are; outlives it
  /// That replicas and evaluations run on; TrainingOptions::devices is their number.
  std::shared_ptr<const TrainingDevices> devices;
  /// Where its batches come from. The data that the run is given then only say what these are
  /// like, and the run ends this queue with its own actors.
  Queue examples;
  PipelineKeeper keeper;          ///< of these batches, for checkpoints; may be none
  std::uint64_t seed = 0;         ///< of their pipeline
  std::uint64_t begins = 0;       ///< the number of the batch that comes first
  std::uint64_t first_batch = 0;  ///< those before this number are passed over
};

/// The default topology: reader -> decoders -> queue -> replicas <-> parameter
/// shards, with an evaluator, a checkpointer and a summary writer, each an actor
/// of this process, led by a conductor.
class Training {
 public:
  /// Builds the model twice, checks that the data fit it, and starts nothing yet.
  /// Throws Error saying what does not fit.
  Training(const ModelFunction& model, Batches data, TrainingOptions options,
           TrainingHost host = {});
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  /// Who is connected to whom, how many threads there are, and the most memory
  /// that data in flight can take.
  std::string describe() const;

  /// Runs to the end and returns how it ended; a failure of any actor is an
  /// outcome with the first cause, not an exception. Call it once.
  TrainingOutcome run();

  /// Ends the run after the steps in progress, with a checkpoint. From any thread
  /// and from signal handlers.
  void request_stop() noexcept { stop_requested_.store(true); }

  /// Another policy, as make_policy() takes it; from any thread, also while the run goes on.
  /// It takes effect when all replicas have ended the step that they are in, and nothing is
  /// lost; EventListener hears of it. Throws as make_policy() does, and invalid_argument when
  /// the run cannot have it.
  void change_policy(const std::string& policy);
  /// The same for variables that have one of their own: a group of AggregationOptions::groups, by
  /// the text that names it. Throws not_found for another text.
  void change_policy(const std::string& policy, const std::string& variables);

  /// One more replica; returns its name. From any thread while run() is at work, as the next
  /// ones, but not from a listener: throws failed_precondition at other times, and in a
  /// deterministic run. Batches that are split are cut for it too from then on.
  std::string add_replica();
  /// A replica gets no more batches, and leaves when it has computed what it has; the newest
  /// one when no name is given. Returns its name. Throws not_found, and failed_precondition
  /// for the last one.
  std::string remove_replica(const std::string& name = "");
  /// Adds or removes until so many are left; returns the names of those that come or go.
  std::vector<std::string> set_replicas(int count);
  int replicas();  ///< that are not about to leave

  /// One more reader of the training data, one less, so many; and the same for decoders: see
  /// PipelineEdits. Each record is still trained on once per epoch. At the same times as for
  /// replicas; a deterministic run refuses other readers, but not other decoders.
  std::string add_reader();
  std::string remove_reader(const std::string& name = "");
  std::vector<std::string> set_readers(int count);
  std::string add_decoder();
  std::string remove_decoder();
  std::vector<std::string> set_decoders(int count);
  int readers();  ///< that are not about to leave
  int decoders();

  /// The names of all actors: "replica 0", "shard 1", "feeder" ... From any thread.
  std::vector<std::string> members() const;
  /// Ends that actor at once, as a fault would. What then happens to the run: see
  /// docs/tutorials/supervision.md. From any thread; throws not_found.
  void kill(const std::string& name);

  /// Where the time of the run went and what limited it; from any thread, also while the run
  /// goes on. Throws failed_precondition before it has begun.
  Explanation explain() const;

  /// Takes everything down. Returns, at the latest after the deadline, the names
  /// of those that have not ended; empty when all have.
  std::vector<std::string> stop(std::chrono::milliseconds deadline);

 private:
  struct Running;
  template <class Answer, class... Words>
  Answer ask_conductor(Words... words);
  template <class Work>
  auto with_pipeline(Work work);
  template <class Change>
  std::vector<std::string> change_pipeline(const char* what, Change change);
  std::uint64_t memory_bound() const;
  ObservationsPtr observed() const;
  TrainingOptions options_;
  TrainingHost host_;
  Batches data_;
  struct Plan;
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<Running> running_;
  mutable std::mutex observer_mutex_;
  bool observing_ = false;        ///< somebody can be asked, under the mutex
  ObservationsPtr observations_;  ///< of a run that has ended, under the mutex
  std::atomic<bool> stop_requested_{false};
  /// Of running_ as others see it, the policy and the coordinator while there is one.
  mutable std::mutex mutex_;
  std::shared_mutex asking_;  ///< held while somebody asks the conductor
  Coordinator coordinator_;
};

}  // namespace troupe
