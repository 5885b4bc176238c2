#include "troupe/actors/allreduce/reducer.h"

#include <algorithm>
#include <caf/actor_cast.hpp>
#include <utility>

#include "troupe/messages/answer.h"

namespace troupe {

ReducerState::~ReducerState() {
  if (promise_.pending()) promise_.deliver(fault(Code::unavailable, title(), " has ended"));
}

std::string ReducerState::title() const {
  if (members_.empty()) return options_.group;
  return text(options_.group, ", member ", place_);
}

caf::ok_atom ReducerState::join(const std::vector<ReductionPort>& members) {
  const auto own = std::find(members.begin(), members.end(), ReductionPort(Reducer(self_)));
  if (own == members.end())
    fail(Code::invalid_argument, title(), " is none of the ", members.size(), " that are to join");
  end(fault(Code::unavailable, "the members are others now"));
  failure_ = {};
  members_ = members;
  place_ = static_cast<std::uint32_t>(own - members.begin());
  for (const auto& member : members_)
    if (member != *own) self_->monitor(member);
  reduction_ = make_reduction(options_.kind, place_, static_cast<std::uint32_t>(members_.size()),
                              [this](std::uint32_t member, ReductionPart part) {
                                self_->send(members_.at(member), edge_atom_v, std::move(part));
                              });
  return caf::ok_atom_v;
}

caf::result<Reduction> ReducerState::run(std::uint64_t round, Reduction& own) {
  if (failure_) return failure_;
  if (members_.empty()) return fault(Code::failed_precondition, title(), " has joined no group");
  if (under_way_ || round <= round_)
    return fault(Code::failed_precondition, title(), ": round ", round, " comes after round ",
                 round_, under_way_ ? ", which is under way" : "");
  round_ = round;
  under_way_ = true;
  promise_ = self_->make_response_promise<Reduction>();
  auto promise = promise_;
  try {
    reduction_->begin(round, std::move(own));
    while (under_way_ && !early_.empty() && early_.begin()->first <= round) {
      auto part = early_.extract(early_.begin());
      if (part.key() == round) reduction_->take(std::move(part.mapped()));
    }
    finish_if_done();
  } catch (...) {
    end(current_fault());
  }
  return promise;
}

void ReducerState::take(ReductionPart& part) {
  if (failure_ || part.round < round_ || (part.round == round_ && !under_way_))
    return;  // nobody waits for it
  if (part.round > round_) {
    early_.emplace(part.round, std::move(part));
    return;
  }
  try {
    reduction_->take(std::move(part));
    finish_if_done();
  } catch (...) {
    end(current_fault());
  }
}

void ReducerState::finish_if_done() {
  if (!under_way_ || !reduction_->done()) return;
  under_way_ = false;
  std::exchange(promise_, {}).deliver(reduction_->result());
}

void ReducerState::end(const caf::error& failure) {
  failure_ = fault(to_error(failure).within(title()));
  early_.clear();
  if (std::exchange(under_way_, false)) std::exchange(promise_, {}).deliver(failure_);
}

void ReducerState::lose(const caf::actor_addr& member, const caf::error& why) {
  if (failure_) return;
  for (std::uint32_t i = 0; i < members_.size(); ++i)
    if (caf::actor_cast<caf::actor_addr>(members_[i]) == member)
      end(fault(Code::unavailable, "member ", i, " is gone",
                why ? text(": ", to_error(why).what()) : std::string()));
}

Reducer::behavior_type reducer(Reducer::stateful_pointer<ReducerState> self,
                               ReducerOptions options) {
  auto& state = self->state;
  state.start(options);
  self->set_down_handler(
      [&state](const caf::down_msg& down) { state.lose(down.source, down.reason); });
  return {
      [&state](edge_atom, ReductionPart& part) { state.take(part); },
      [&state](join_atom, const std::vector<ReductionPort>& members) {
        return answer([&] { return state.join(members); });
      },
      [&state](run_atom, std::uint64_t round, Reduction& own) { return state.run(round, own); },
  };
}

}  // namespace troupe
