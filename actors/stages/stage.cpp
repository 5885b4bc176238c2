#include "troupe/actors/stages/stage.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <numeric>

#include "troupe/messages/answer.h"
#include "troupe/ops/random.h"

namespace troupe {
void StageState::start(StageOptions options) {
  options_ = std::move(options);
  store_ = std::make_unique<ParameterStore>(title(), options_.program.variables, options_.optimizer,
                                            options_.learning_rate);
  if (!is_last()) load(options_.program.forward, forward_);
  load(options_.program.backward, backward_);
}

void StageState::load(const FragmentSpec& spec, std::optional<FragmentId>& id) {
  self_->request(options_.device, caf::infinite, load_atom_v, spec)
      .then(
          [this, &id](FragmentId loaded) {
            id = loaded;
            advance();
          },
          [this](caf::error& error) { end(error); });
}

caf::ok_atom StageState::join(const std::vector<StagePort>& stages) {
  if (stages.size() != options_.stages)
    fail(Code::invalid_argument, title(), " is one of ", options_.stages, " stages, but there are ",
         stages.size());
  if (options_.index > 0) before_ = stages[options_.index - 1];
  if (!is_last()) behind_ = stages[options_.index + 1];
  return caf::ok_atom_v;
}

void StageState::restore(const ShardSnapshot& snapshot) {
  if (step_) fail(Code::failed_precondition, title(), " is in the middle of step ", step_->step);
  store_->restore(snapshot);
}

// ---- a step ----------------------------------------------------------------------------------

caf::result<StageReport> StageState::run(const StageStep& step) {
  if (failure_) return failure_;
  if (step_)
    return fault(Code::failed_precondition, title(), " is in the middle of step ", step_->step);
  if (step.rows.empty() ||
      std::any_of(step.rows.begin(), step.rows.end(), [](std::int64_t rows) { return rows < 1; }))
    return fault(Code::invalid_argument, title(), ": step ", step.step,
                 " has no micro-batches, or some without rows");
  step_ = step;
  promise_ = self_->make_response_promise<StageReport>();
  report_ = {};
  report_.stage = options_.index;
  report_.step = step.step;
  begun_ = Clock::now();
  all_rows_ = std::accumulate(step.rows.begin(), step.rows.end(), std::int64_t{0});
  moves_ = stage_order(options_.schedule, options_.index, options_.stages,
                       static_cast<std::uint32_t>(step.rows.size()));
  next_move_ = 0;
  sums_ = GradientAccumulator(options_.program.parts.size());
  variables_ = store_->parameters(false).values;
  auto promise = promise_;
  advance();
  return promise;
}

void StageState::take_input(StageTensor& tensor) {
  inputs_[tensor.micro_batch] = std::move(tensor.values);
  advance();
}

void StageState::take_returned(StageTensor& tensor) {
  returned_[tensor.micro_batch] = std::move(tensor.values);
  advance();
}

/// Makes the next move, if what it needs is there.
void StageState::advance() {
  if (!step_ || computing_ || !backward_ || (!is_last() && !forward_)) return;
  if (next_move_ == moves_.size()) return update();
  const auto [forward, micro_batch] = moves_[next_move_];
  clock_.enter(StageActivity::waiting_for_input);
  if (!inputs_.contains(micro_batch)) return;
  if (!forward && !returned_.contains(micro_batch)) return;
  ++next_move_;
  if (forward)
    go_forward(micro_batch);
  else
    go_back(micro_batch);
}

void StageState::compute(FragmentId fragment, std::uint32_t micro_batch, TensorList feeds,
                         void (StageState::*then)(std::uint32_t, TensorList&)) {
  // The whole batch lies before the first stage anyway: there, what has begun counts.
  const auto held = options_.index == 0 ? under_way_ : static_cast<std::uint32_t>(inputs_.size());
  report_.most_activations = std::max(report_.most_activations, held);
  feeds.insert(feeds.end(), variables_.begin(), variables_.end());
  computing_ = true;
  clock_.enter(StageActivity::busy);
  // The same numbers on the way back: dropout must drop the same.
  const auto seed = mix(step_->seed ^ mix(step_->step * 0x10001 + micro_batch));
  self_->request(options_.device, caf::infinite, run_atom_v, fragment, seed, std::move(feeds))
      .then(
          [this, micro_batch, then, since = Clock::now()](RunResult& result) {
            computing_ = false;
            report_.busy += Clock::now() - since;
            (this->*then)(micro_batch, result.fetches);
            advance();
          },
          [this](caf::error& error) {
            computing_ = false;
            end(error);
          });
}

void StageState::go_forward(std::uint32_t micro_batch) {
  ++under_way_;
  compute(*forward_, micro_batch, {inputs_.at(micro_batch)}, &StageState::pass_on);
}

void StageState::pass_on(std::uint32_t micro_batch, TensorList& outputs) {
  self_->send(behind_, forward_atom_v,
              StageTensor{step_->step, micro_batch, std::move(outputs.at(0))});
}

void StageState::go_back(std::uint32_t micro_batch) {
  auto returned = returned_.extract(micro_batch);
  compute(*backward_, micro_batch, {inputs_.at(micro_batch), std::move(returned.mapped())},
          &StageState::collect);
}

void StageState::collect(std::uint32_t micro_batch, TensorList& outputs) {
  inputs_.erase(micro_batch);
  if (!is_last()) --under_way_;
  const auto share =
      static_cast<double>(step_->rows.at(micro_batch)) / static_cast<double>(all_rows_);
  std::size_t at = 0;
  if (options_.program.has_loss) report_.loss += share * outputs.at(at++).item();
  if (options_.program.has_input_gradient)
    self_->send(before_, backward_atom_v,
                StageTensor{step_->step, micro_batch, std::move(outputs.at(at++))});
  // The gradient that comes back to a stage is that of the micro-batch's own mean.
  for (std::size_t part = 0; part < options_.program.parts.size(); ++part)
    sums_.add(part, std::move(outputs.at(at + part)), Tensor(), step_->rows.at(micro_batch));
}

void StageState::update() {
  GradientSet set;
  set.commit.step = step_->step;
  set.commit.version = store_->version();
  for (std::size_t i = 0; i < options_.program.parts.size(); ++i) {
    GradientPart part;
    part.kind = options_.program.parts[i].kind;
    part.step = step_->step;
    part.variable = options_.program.parts[i].variable;
    part.values = sums_.take(i, all_rows_).value().values;
    set.parts.push_back(std::move(part));
  }
  variables_.clear();  // values that nobody else holds are updated in place
  try {
    report_.learning_rate = store_->apply({std::move(set)}, serial());
  } catch (...) {
    return end(current_fault());
  }
  report_.elapsed = Clock::now() - begun_;
  clock_.enter(StageActivity::idle);
  clock_.passed_on(static_cast<std::uint64_t>(all_rows_), 0);
  step_.reset();
  promise_.deliver(report_);
}

void StageState::end(caf::error failure) {
  failure_ = fault(to_error(failure).within(title()));
  clock_.enter(StageActivity::idle);
  inputs_.clear();
  returned_.clear();
  if (!step_) return;
  step_.reset();
  promise_.deliver(failure_);
}

Stage::behavior_type stage(Stage::stateful_pointer<StageState> self, StageOptions options) {
  auto& state = self->state;
  state.start(std::move(options));
  return {
      [&state](forward_atom, StageTensor& tensor) { state.take_input(tensor); },
      [&state](backward_atom, StageTensor& tensor) { state.take_returned(tensor); },
      [&state](join_atom, const std::vector<StagePort>& stages) {
        return answer([&] { return state.join(stages); });
      },
      [&state](run_atom, const StageStep& step) { return state.run(step); },
      [&state](snapshot_atom) { return state.snapshot(); },
      [&state](restore_atom, const ShardSnapshot& snapshot) {
        return answer([&] {
          state.restore(snapshot);
          return caf::ok_atom_v;
        });
      },
      [&state](status_atom) { return state.status(); },
  };
}

}  // namespace troupe
