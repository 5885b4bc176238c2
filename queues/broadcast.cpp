#include "troupe/queues/broadcast.h"

#include <algorithm>
#include <caf/actor_cast.hpp>
#include <utility>

#include "troupe/messages/answer.h"

namespace troupe {

void validate(const BroadcastOptions& options) {
  if (!options.queue || options.batch < 1 || options.max_lag < 1)
    fail(Code::invalid_argument, "broadcast '", options.name,
         "' needs a queue, at least 1 row in a batch and a lag of at least 1 batch, but got ",
         options.batch, " rows and a lag of ", options.max_lag);
}

BroadcastState::~BroadcastState() {
  for (auto& [address, branch] : branches_)
    if (branch.waiting)
      branch.waiting->deliver(
          fault(Code::unavailable, "broadcast '", options_.name, "' has been ended"));
}

void BroadcastState::start(BroadcastOptions options) {
  validate(options);
  options_ = std::move(options);
  first_ = untouched_ = options_.first;
  cuts_.begin(options_.name, options_.first);
  self_->set_down_handler([this](const caf::down_msg& down) { leave(down.source); });
}

std::uint64_t BroadcastState::join(const caf::actor& branch) {
  if (!branch) fail(Code::invalid_argument, "broadcast '", options_.name, "': nobody joins");
  if (!branches_.try_emplace(branch.address(), Branch{untouched_, {}}).second)
    fail(Code::already_exists, "broadcast '", options_.name, "' has this branch already");
  self_->monitor(branch);
  return untouched_;
}

/// The branch that the current message is from; nullptr for others.
BroadcastState::Branch* BroadcastState::asking() {
  const auto found = branches_.find(caf::actor_cast<caf::actor_addr>(self_->current_sender()));
  return found == branches_.end() ? nullptr : &found->second;
}

caf::result<Batch> BroadcastState::next() {
  auto* branch = asking();
  if (!branch)
    return fault(Code::failed_precondition, "broadcast '", options_.name,
                 "': who asks for a batch must join first");
  if (branch->waiting)
    return fault(Code::failed_precondition, "broadcast '", options_.name,
                 "': a branch asked for a batch twice");
  auto promise = self_->make_response_promise<Batch>();
  branch->waiting = promise;
  advance();
  return promise;
}

caf::result<PipelineSnapshot> BroadcastState::snapshot() {
  const auto* branch = asking();
  if (!branch)
    return fault(Code::failed_precondition, "broadcast '", options_.name,
                 "': who asks for a snapshot must join first");
  if (!options_.keeper)
    return fault(Code::failed_precondition, "broadcast '", options_.name,
                 "': nobody keeps the pipeline");
  auto promise = self_->make_response_promise<PipelineSnapshot>();
  const auto had = static_cast<std::ptrdiff_t>(branch->next - first_);
  const auto cut = cuts_.open({kept_.begin() + had, kept_.end()}, promise);
  self_->request(options_.keeper, caf::infinite, snapshot_atom_v)
      .then([this, cut](PipelineSnapshot& snapshot) { cuts_.take(cut, std::move(snapshot)); },
            [this, cut](const caf::error& why) { cuts_.fail(cut, why); });
  return promise;
}

void BroadcastState::leave(const caf::actor_addr& branch) {
  const auto found = branches_.find(branch);
  if (found == branches_.end()) return;
  if (found->second.waiting)
    found->second.waiting->deliver(
        fault(Code::cancelled, "broadcast '", options_.name, "': the branch has left"));
  branches_.erase(found);
  self_->demonitor(branch);
  advance();
}

/// Answers whoever waits for what is there.
void BroadcastState::hand_out() {
  for (auto& [address, branch] : branches_) {
    if (!branch.waiting) continue;
    if (branch.next < newest()) {
      auto promise = *std::exchange(branch.waiting, std::nullopt);
      promise.deliver(kept_[branch.next++ - first_]);
      untouched_ = std::max(untouched_, branch.next);
    } else if (end_) {
      std::exchange(branch.waiting, std::nullopt)->deliver(end_);
    }
  }
}

void BroadcastState::forget() {
  auto oldest = untouched_;
  for (const auto& [address, branch] : branches_) oldest = std::min(oldest, branch.next);
  for (; first_ < oldest; ++first_) kept_.pop_front();
}

void BroadcastState::ask() {
  const bool wanted = std::any_of(branches_.begin(), branches_.end(),
                                  [](const auto& b) { return b.second.waiting.has_value(); });
  if (asked_ || !wanted) return;
  if (std::ssize(kept_) >= options_.max_lag) return clock_.enter(StageActivity::waiting_for_output);
  asked_ = true;
  clock_.enter(StageActivity::waiting_for_input);
  DequeueRequest request;
  request.count = options_.batch;
  request.up_to = !options_.drop_remainder;
  self_->request(options_.queue, caf::infinite, dequeue_atom_v, request)
      .then(
          [this](Batch& batch) {
            asked_ = false;
            clock_.enter(StageActivity::idle);
            clock_.passed_on(static_cast<std::uint64_t>(batch.rows()), 0);
            cuts_.note_arrival(batch);
            kept_.push_back(std::move(batch));
            advance();
          },
          [this](caf::error& error) {
            asked_ = false;
            clock_.enter(StageActivity::idle);
            end_ = std::move(error);
            cuts_.note_end(end_);
            hand_out();
          });
}

void BroadcastState::advance() {
  hand_out();
  forget();
  if (!end_) ask();
}

Broadcast::behavior_type batch_broadcast(Broadcast::stateful_pointer<BroadcastState> self,
                                         BroadcastOptions options) {
  auto& s = self->state;
  s.start(std::move(options));
  return {
      [&s](join_atom, const caf::actor& branch) { return answer([&] { return s.join(branch); }); },
      [&s](next_atom) { return s.next(); },
      [&s](leave_atom, const caf::actor& branch) { s.leave(branch.address()); },
      [&s](status_atom) { return s.status(); },
      [&s](snapshot_atom) { return s.snapshot(); },
  };
}

}  // namespace troupe
