#include "troupe/actors/stages/stage_leader.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <cmath>
#include <memory>
#include <utility>

#include "troupe/messages/fault.h"

namespace troupe {

/// What the stages have between two steps, and what is left of the data then.
struct StageCut {
  std::vector<ShardSnapshot> stages;
  DataState data;
  std::size_t missing = 0;  // answers
};

caf::result<TrainingOutcome> StageLeaderState::start(StageLeaderOptions options) {
  if (started_) return fault(Code::failed_precondition, "the run has been started already");
  started_ = true;
  options_ = std::move(options);
  promise_ = self_->make_response_promise<TrainingOutcome>();
  begun_ = std::chrono::steady_clock::now();
  outcome_.steps = last_saved_ = options_.first_step;
  for (const auto& [name, actor] : options_.watched) {
    watched_[actor.address()] = name;
    self_->monitor(actor);
  }
  for (const auto& [name, decoder] : options_.decoders)
    self_->request(decoder, caf::infinite, start_atom_v)
        .then([](std::uint64_t) {},
              [this](caf::error& error) {
                if (!stopping_) fail_run(to_error(error));
              });
  auto promise = promise_;
  next_batch();
  return promise;
}

void StageLeaderState::stop() { stopping_ = true; }

void StageLeaderState::lose(const caf::down_msg& down) {
  const auto found = watched_.find(down.source);
  if (found == watched_.end() || !down.reason) return;
  const auto cause = to_error(down.reason);
  fail_run(Error(cause.code(), text(found->second, " ended: ", cause.what())));
}

void StageLeaderState::next_batch() {
  if (over_) return;
  if (stopping_) outcome_.ending = Ending::stopped;
  const bool done = options_.max_steps > 0 && outcome_.steps >= options_.max_steps;
  if (stopping_ || done) return end();
  DequeueRequest request;
  request.count = options_.rows;
  request.up_to = !options_.drop_remainder;
  self_->request(options_.examples, caf::infinite, dequeue_atom_v, request)
      .then([this](const Batch& batch) { begin_step(batch); },
            [this](caf::error& error) {
              if (code_of(error) != Code::out_of_range) return fail_run(to_error(error));
              outcome_.ending = Ending::end_of_data;
              if (outcome_.steps == options_.first_step && !options_.resumed_data)
                return fail_run(Error(Code::invalid_argument,
                                      "the data have ended before the first batch was full"));
              end();
            });
}

void StageLeaderState::begin_step(const Batch& batch) {
  if (over_) return;
  StageStep step;
  step.step = outcome_.steps + 1;
  step.seed = options_.seed;
  const auto rows = batch.rows();
  const auto count = std::min<std::int64_t>(options_.micro_batches, rows);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto begin = rows * i / count;
    const auto end = rows * (i + 1) / count;
    step.rows.push_back(end - begin);
    const auto micro_batch = static_cast<std::uint32_t>(i);
    self_->send(options_.stages.front(), forward_atom_v,
                StageTensor{step.step, micro_batch, batch.components.at(0).slice(begin, end)});
    self_->send(options_.stages.back(), backward_atom_v,
                StageTensor{step.step, micro_batch, batch.components.at(1).slice(begin, end)});
  }
  outcome_.examples += rows;
  reports_.assign(options_.stages.size(), StageReport{});
  missing_ = options_.stages.size();
  for (const auto& stage : options_.stages)
    self_->request(stage, caf::infinite, run_atom_v, step)
        .then([this](const StageReport& report) { take_report(report); },
              [this](caf::error& error) { fail_run(to_error(error)); });
}

void StageLeaderState::take_report(const StageReport& report) {
  if (over_) return;
  reports_.at(report.stage) = report;
  if (--missing_ > 0) return;
  double loss = 0;
  for (const auto& each : reports_) loss += each.loss;
  ++outcome_.steps;
  outcome_.training = {loss};
  if (outcome_.steps == options_.first_step + 1)
    outcome_.until_first_step = std::chrono::steady_clock::now() - begun_;
  if (options_.listener) options_.listener(reports_);
  if (!std::isfinite(loss))
    return fail_run(
        Error(Code::invalid_argument, text("the loss is ", loss, " at step ", outcome_.steps,
                                           ": the weights are lost; try a smaller learning rate")));
  if (is_due()) return save([this] { next_batch(); });
  next_batch();
}

// ---- checkpoints -----------------------------------------------------------------------------

bool StageLeaderState::is_due() const {
  return options_.checkpointer && options_.every > 0 && outcome_.steps % options_.every == 0;
}

/// Between two steps all stages have the same version, and no batch is under way: so what they
/// have and what the pipeline has are one cut. The next step goes on while it is written.
void StageLeaderState::save(std::function<void()> then) {
  if (saving_) {
    when_saved_ = [this, then] { save(then); };
    if (over_ || !options_.events || std::exchange(told_of_disk_, true)) return;
    return options_.events(text("step ", outcome_.steps, ": checkpoints fall due (every ",
                                options_.every, options_.every == 1 ? " step" : " steps",
                                ") faster than they are written: training waits for the disk"));
  }
  saving_ = true;
  last_saved_ = outcome_.steps;
  const auto cut = std::make_shared<StageCut>();
  cut->stages.resize(options_.stages.size());
  cut->data = options_.data;
  cut->data.version = outcome_.steps;
  cut->data.trained += outcome_.examples;
  cut->missing = options_.stages.size() + (options_.keeper ? 1 : 0);
  const auto next = [this, cut, then] {
    if (--cut->missing > 0 || outcome_.ending == Ending::failed) return;
    write(cut);
    then();
  };
  for (std::size_t i = 0; i < cut->stages.size(); ++i)
    self_->request(options_.stages[i], caf::infinite, snapshot_atom_v)
        .then(
            [cut, i, next](ShardSnapshot& snapshot) {
              cut->stages[i] = std::move(snapshot);
              next();
            },
            [this](caf::error& error) { fail_run(to_error(error)); });
  if (!options_.keeper) return;
  self_->request(options_.keeper, caf::infinite, snapshot_atom_v)
      .then(
          [cut, next](PipelineSnapshot& snapshot) {
            cut->data.pipeline = std::move(snapshot);
            next();
          },
          [cut, next](caf::error& error) {
            cut->data.missing = render(error);
            next();
          });
}

void StageLeaderState::write(const std::shared_ptr<StageCut>& cut) {
  const auto saved = [this](const SavedCheckpoint& checkpoint) {
    saving_ = false;
    outcome_.checkpoint = checkpoint.path;
    if (const auto next = std::exchange(when_saved_, {})) next();
  };
  const auto failed = [this](caf::error& error) {
    saving_ = false;
    fail_run(to_error(error).within("the checkpoint of the stages"));
  };
  if (options_.keeper)
    self_
        ->request(options_.checkpointer, caf::infinite, save_atom_v, std::move(cut->stages),
                  std::move(cut->data))
        .then(saved, failed);
  else
    self_->request(options_.checkpointer, caf::infinite, save_atom_v, std::move(cut->stages))
        .then(saved, failed);
}

void StageLeaderState::fail_run(const Error& error) {
  if (!promise_.pending() || outcome_.ending == Ending::failed) return;
  over_ = stopping_ = true;
  outcome_.elapsed = std::chrono::steady_clock::now() - begun_;
  outcome_.ending = Ending::failed;
  outcome_.code = error.code();
  outcome_.message = error.what();
  finish();
}

void StageLeaderState::end() {
  if (over_) return;
  over_ = stopping_ = true;
  outcome_.elapsed = std::chrono::steady_clock::now() - begun_;
  const auto when_written = [this] {
    if (!saving_) return finish();
    when_saved_ = [this] { finish(); };
  };
  if (options_.checkpointer && last_saved_ < outcome_.steps) return save(when_written);
  when_written();
}

void StageLeaderState::finish() {
  if (!promise_.pending()) return;
  for (const auto& [name, decoder] : options_.decoders) caf::anon_send(decoder, stop_atom_v);
  caf::anon_send(options_.examples, caf::close_atom_v,
                 CloseRequest{true, {Code::cancelled, "the training run is stopping"}});
  promise_.deliver(outcome_);
}

StageLeader::behavior_type stage_leader(StageLeader::stateful_pointer<StageLeaderState> self,
                                        StageLeaderOptions options) {
  auto& state = self->state;
  self->set_down_handler([&state](const caf::down_msg& down) { state.lose(down); });
  return {
      [&state, options](start_atom) { return state.start(options); },
      [&state](stop_atom) {
        state.stop();
        return caf::ok_atom_v;
      },
  };
}

}  // namespace troupe
