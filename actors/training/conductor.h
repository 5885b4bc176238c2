#pragma once

#include <caf/typed_response_promise.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/training/progress.h"
#include "troupe/messages/protocol.h"

namespace troupe {

struct ConductorOptions {
  std::vector<std::pair<std::string, Decoder>> decoders;  ///< started with the run, by name
  /// Those of the evaluation set: started with the run too, but they go on when it stops.
  std::vector<std::pair<std::string, Decoder>> evaluation_decoders;
  std::vector<std::pair<std::string, Replica>> replicas;
  std::vector<Shard> shards;
  ShardKeeper keeper;       ///< says which copies have taken the place of shards; may be none
  Coordinator coordinator;  ///< for the summary at the end; may be none
  std::vector<std::pair<std::string, caf::actor>> watched;  ///< whose death ends the run
  Queue examples;                                           ///< for the fill level
  Evaluator evaluator;                                      ///< may be none
  Checkpointer checkpointer;                                ///< may be none
  SummaryWriter summaries;                                  ///< may be none

  std::vector<std::string> names;    ///< of the training values
  std::uint64_t evaluate_every = 0;  ///< steps; 0 for at the end only
  std::optional<double> stop_below;  ///< the evaluation loss at which the goal is met
  std::uint64_t first_step = 0;      ///< where the parameters stand when the run begins
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
  std::size_t replicas_running = 0;
  bool evaluating = false;
  std::optional<std::uint64_t> evaluation_due;
  std::uint64_t last_evaluated = 0;  ///< version

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

/// Starts decoders and replicas, adds up what the replicas report, has the
/// evaluation made when it is due (one at a time: an evaluation that falls due
/// during another follows it with the newest parameters) and ends the run: at the
/// last step, at the end of the data, when the goal is met, when asked, or with
/// the first failure of any actor. The last evaluation is given up when somebody
/// asks for the end meanwhile. Every ending but a loss that is not finite
/// leaves a checkpoint, if there is somebody to write it.
///
/// The options are read when the run is started: until then whoever spawned the
/// conductor may fill them in, since some of the others must know it first.
Conductor::behavior_type conductor(Conductor::stateful_pointer<ConductorState> self,
                                   std::shared_ptr<const ConductorOptions> options);

}  // namespace troupe
