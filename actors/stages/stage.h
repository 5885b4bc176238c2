#pragma once

#include <caf/typed_response_promise.hpp>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "troupe/actors/stages/stage_order.h"
#include "troupe/actors/stages/stage_program.h"
#include "troupe/actors/training/gradient_accumulator.h"
#include "troupe/messages/stage_clock.h"
#include "troupe/messages/stages.h"

namespace troupe {

struct StageOptions {
  std::uint32_t index = 0;
  std::uint32_t stages = 1;
  StageProgram program;
  Device device;
  StageSchedule schedule = StageSchedule::one_forward_one_back;
  OptimizerConfig optimizer;
  Schedule learning_rate = 0.01;
};

class StageState {
 public:
  static constexpr const char* name = "troupe.stage";

  explicit StageState(Stage::pointer self) : self_(self) {}

  void start(StageOptions options);
  caf::ok_atom join(const std::vector<StagePort>& stages);
  caf::result<StageReport> run(const StageStep& step);
  void take_input(StageTensor& tensor);
  void take_returned(StageTensor& tensor);
  ShardSnapshot snapshot() const { return store_->snapshot(options_.index); }
  void restore(const ShardSnapshot& snapshot);
  StageStatus status() const { return clock_.read(); }

 private:
  using Clock = std::chrono::steady_clock;

  void load(const FragmentSpec& spec, std::optional<FragmentId>& id);
  void advance();
  void go_forward(std::uint32_t micro_batch);
  void go_back(std::uint32_t micro_batch);
  void compute(FragmentId fragment, std::uint32_t micro_batch, TensorList feeds,
               void (StageState::*then)(std::uint32_t, TensorList&));
  void pass_on(std::uint32_t micro_batch, TensorList& outputs);
  void collect(std::uint32_t micro_batch, TensorList& outputs);
  void update();
  void end(caf::error failure);
  bool is_last() const { return options_.index + 1 == options_.stages; }
  std::string title() const { return text("stage ", options_.index); }

  Stage::pointer self_;
  StageOptions options_;
  std::unique_ptr<ParameterStore> store_;
  StagePort before_, behind_;  // none at the ends
  std::optional<FragmentId> forward_, backward_;
  caf::error failure_;  // after which nothing is possible any more

  // The step in progress.
  std::optional<StageStep> step_;
  caf::typed_response_promise<StageReport> promise_;
  StageReport report_;
  Clock::time_point begun_;
  std::int64_t all_rows_ = 0;
  std::vector<StageMove> moves_;
  std::size_t next_move_ = 0;
  bool computing_ = false;
  std::uint32_t under_way_ = 0;  // micro-batches that went forward and have not come back
  TensorList variables_;
  std::map<std::uint32_t, Tensor> inputs_;    // by micro-batch, until it has come back
  std::map<std::uint32_t, Tensor> returned_;  // gradients, or labels
  GradientAccumulator sums_;                  // of the parts
  StageClock clock_;
};

/// Takes the micro-batches of a step forward and back in the order of its schedule, as soon
/// as its neighbours have sent what is needed, adds up the gradients weighted by rows, and
/// updates its variables when all have come back. Of a micro-batch under way it keeps the
/// input alone; it never has more of them under way than its schedule says, so that no
/// neighbour is sent more than it can take.
///
/// A failure is the answer to (run) and to every later one, with the stage's name.
Stage::behavior_type stage(Stage::stateful_pointer<StageState> self, StageOptions options);

}  // namespace troupe
