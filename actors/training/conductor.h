#pragma once

#include <caf/typed_response_promise.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/allreduce/group_keeper.h"
#include "troupe/actors/supervision/supervision.h"
#include "troupe/actors/training/best_evaluation.h"
#include "troupe/actors/training/progress.h"
#include "troupe/messages/data_state.h"

namespace troupe {

struct ConductorOptions {
  std::vector<std::pair<std::string, Decoder>> decoders;  ///< started with the run, by name
  /// Those of the evaluation set: started with the run too, but they go on when it stops.
  std::vector<std::pair<std::string, Decoder>> evaluation_decoders;
  std::vector<std::pair<std::string, Replica>> replicas;  ///< of the numbers 0, 1, ...
  /// Spawns the replica of that number and name: for one that was lost, and for one more. In an
  /// all-reduce one that came later has the shard that the group has made for it. Without this
  /// function the first loss ends the run.
  std::function<Replica(std::uint32_t, const std::string&, const Shard&)> spawn_replica;
  std::function<void(const caf::actor&)> retire;  ///< that replica has left; may be none
  RestartOptions restarts;                        ///< of replicas that are lost
  std::string fixed;  ///< why replicas cannot come and go; empty when they can
  Feeder feeder;      ///< whose books count; may be none
  std::vector<Shard> shards;
  ShardKeeper keeper;       ///< says which copies have taken the place of shards; may be none
  GroupKeeper group;        ///< the same one where replicas have a shard of their own
  Coordinator coordinator;  ///< for the summary at the end; may be none
  std::vector<std::pair<std::string, caf::actor>> watched;  ///< whose death ends the run
  std::set<std::string> vital;  ///< those of them without whom no replica can end its step
  Queue examples;               ///< for the fill level
  Evaluator evaluator;          ///< may be none
  Checkpointer checkpointer;    ///< may be none
  SummaryWriter summaries;      ///< may be none
  /// The last checkpoint has the data, too; for a DataCheckpointer and a SavingCoordinator.
  bool with_data = false;
  bool whole_sets = false;     ///< see ReplicaOptions: the feeder says when replicas stop
  bool with_memories = false;  ///< replicas keep something for themselves, which checkpoints have
  bool resumed_data = false;   ///< they go on from the middle, or from their end

  std::vector<std::string> names;    ///< of the training values
  std::uint64_t evaluate_every = 0;  ///< steps; 0 for at the end only
  /// Compares evaluations; none when nobody wants to know.
  std::optional<BestEvaluation> best;
  bool keeps_best = false;           ///< the checkpointer keeps the variables of the best one
  bool answers_best = false;         ///< the outcome is that of the best evaluation
  std::optional<double> stop_below;  ///< the evaluation loss at which the goal is met
  std::uint64_t first_step = 0;      ///< where the parameters stand when the run begins
  std::int64_t first_examples = 0;   ///< of the data that go on, trained on before
  std::uint64_t max_steps = 0;
  std::int64_t total_examples = 0;  ///< 0 when it is not known
  std::int64_t epoch_examples = 0;
  ProgressListener progress;
  EventListener events;
  std::chrono::milliseconds interval{1000};   ///< between reports of progress
  std::chrono::milliseconds patience{30000};  ///< for everybody to stop
};

struct ConductorState {
  static constexpr const char* name = "troupe.conductor";
  using Clock = std::chrono::steady_clock;

  caf::typed_response_promise<TrainingOutcome> outcome_promise;
  TrainingOutcome outcome;
  bool started = false;
  bool stopping = false;
  bool winding_up = false;  ///< the replicas are done: last checkpoint, last evaluation
  bool over = false;
  bool evaluating_last = false;  ///< the end waits for it
  std::map<caf::actor_addr, std::string> watched;

  /// A replica, or the place of one.
  struct Member {
    enum class At : std::uint8_t { work, rest, end };  ///< rest: lost, to be started again
    std::uint32_t index = 0;
    Replica handle;
    Shard shard;  ///< its own, if that was made for it
    At at = At::work;
    bool leaving = false;
    std::uint32_t starts = 1;
    Clock::time_point lost_at;
    bool due = false;   ///< its time to be started again has come
    std::string again;  ///< what is computed again, in words, once it is known
  };
  std::map<std::string, Member> members;  ///< by name
  std::uint32_t next_index = 0;
  std::map<std::uint32_t, std::uint64_t> last_steps;  ///< that replicas have reported, by number
  std::optional<Supervision> rules;
  bool concluding = false;
  bool evaluating = false;
  std::optional<std::uint64_t> evaluation_due;
  std::uint64_t last_evaluated = 0;  ///< version
  std::optional<BestEvaluation> best;
  std::vector<double> best_values;
  std::string best_checkpoint;

  struct StepTotal {
    std::int64_t examples = 0;
    std::vector<double> values;
    std::size_t reports = 0;
    StepReport last;
  };
  std::map<std::uint64_t, StepTotal> open_steps;
  Progress progress;
  Clock::time_point begun;
  Clock::time_point last_tick;
  std::chrono::nanoseconds last_cpu{0};
  std::int64_t last_examples = 0;
  std::chrono::nanoseconds waited{0};
};

/// A conductor that also changes who takes part.
///   (start, name)         of itself: it is time to start that replica again
///   (join)        -> name   one more replica takes part
///   (leave, name) -> name   that replica, or the newest one where the name is empty, gets no more
///                           batches and leaves when it has computed what it has; not_found,
///                           or failed_precondition when it is the last
///   (status)      -> replicas that take part and are not about to leave
///   (log, words)          others hear of that, with the step
using LeadingConductor = Conductor::extend<
    caf::reacts_to<start_atom, std::string>, caf::replies_to<join_atom>::with<std::string>,
    caf::replies_to<leave_atom, std::string>::with<std::string>,
    caf::replies_to<status_atom>::with<std::int64_t>, caf::reacts_to<log_atom, std::string>>;

using ConductorSelf = LeadingConductor::stateful_pointer<ConductorState>;
using ConductorOptionsPtr = std::shared_ptr<const ConductorOptions>;

/// Starts decoders and replicas, adds up what the replicas report, has the
/// evaluation made when it is due (one at a time: an evaluation that falls due
/// during another follows it with the newest parameters) and ends the run: at the
/// last step, at the end of the data, when the goal is met, when asked, or with
/// the first failure of any actor. The last evaluation is given up when somebody
/// asks for the end meanwhile. Every ending but a loss that is not finite
/// leaves a checkpoint, if there is somebody to write it.
///
/// A replica that is lost is started again, as the restarts allow, if its failure would not
/// only repeat itself; events say what was lost, why, and what that costs.
///
/// The options are read when the run is started: until then whoever spawned the
/// conductor may fill them in, since some of the others must know it first.
LeadingConductor::behavior_type conductor(ConductorSelf self, ConductorOptionsPtr options);

}  // namespace troupe
