#pragma once

#include <caf/typed_response_promise.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/training/progress.h"
#include "troupe/messages/data_state.h"
#include "troupe/messages/stages.h"

namespace troupe {

/// Leads the stages of a cut model through its steps.
///   (start) -> outcome    when the run has ended, one way or the other
///   (stop)  -> ok         end after the step in progress
using StageLeader = caf::typed_actor<caf::replies_to<start_atom>::with<TrainingOutcome>,
                                     caf::replies_to<stop_atom>::with<caf::ok_atom>>;

/// What is told after each step: a report of each stage, in their order.
using StepListener = std::function<void(const std::vector<StageReport>&)>;

struct StageLeaderOptions {
  std::vector<Stage> stages;
  std::vector<std::pair<std::string, Decoder>> decoders;  ///< started with the run, by name
  Queue examples;
  std::int64_t rows = 1;  ///< of a batch
  bool drop_remainder = false;
  std::uint32_t micro_batches = 1;
  std::uint64_t max_steps = 0;  ///< 0: until the data end
  std::uint64_t seed = 0;
  StepListener listener;
  EventListener events;
  std::vector<std::pair<std::string, caf::actor>> watched;  ///< whose death ends the run

  std::uint64_t first_step = 0;   ///< that the stages have made before
  bool resumed_data = false;      ///< they go on from the middle, or from their end
  DataCheckpointer checkpointer;  ///< may be none
  std::uint64_t every = 0;        ///< steps between checkpoints; 0 for one at the end
  PipelineKeeper keeper;          ///< of the examples' pipeline; none: no data in checkpoints
  DataState data;                 ///< what a checkpoint says of the data beside the pipeline
};

struct StageCut;

class StageLeaderState {
 public:
  static constexpr const char* name = "troupe.stage_leader";

  explicit StageLeaderState(StageLeader::pointer self) : self_(self) {}

  caf::result<TrainingOutcome> start(StageLeaderOptions options);
  void stop();
  void lose(const caf::down_msg& down);

 private:
  void next_batch();
  void begin_step(const Batch& batch);
  void take_report(const StageReport& report);
  void fail_run(const Error& error);
  void end();
  void finish();
  void save(std::function<void()> then);
  void write(const std::shared_ptr<StageCut>& cut);
  bool is_due() const;

  StageLeader::pointer self_;
  StageLeaderOptions options_;
  caf::typed_response_promise<TrainingOutcome> promise_;
  TrainingOutcome outcome_;
  bool started_ = false;
  bool stopping_ = false;
  bool over_ = false;
  bool saving_ = false;               // files are being written
  std::function<void()> when_saved_;  // what waits for that
  bool told_of_disk_ = false;         // that it holds the run back
  std::uint64_t last_saved_ = 0;      // step
  std::map<caf::actor_addr, std::string> watched_;
  std::vector<StageReport> reports_;
  std::size_t missing_ = 0;
  std::chrono::steady_clock::time_point begun_;
};

/// Cuts each batch into micro-batches of (nearly) equal size, at most one for each row, sends
/// their first component to the first stage and the second one to the last, and goes on with
/// the next batch when all stages have updated. A checkpoint that falls due while another one is
/// being written waits for that, and so does the next batch.
StageLeader::behavior_type stage_leader(StageLeader::stateful_pointer<StageLeaderState> self,
                                        StageLeaderOptions options);

}  // namespace troupe
