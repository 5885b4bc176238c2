#include "troupe/actors/ensemble/ensemble.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <cmath>

#include "troupe/messages/answer.h"
#include "troupe/messages/tick.h"
#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

bool has_nan(const Tensor& tensor) {
  if (!is_floating(tensor.dtype())) return false;
  return dispatch_floating(tensor.dtype(), "ensemble", [&]<class T>() {
    const auto values = tensor.read<T>();
    return std::any_of(values.begin(), values.end(), [](T x) { return std::isnan(x); });
  });
}

std::string specs_of(const TensorList& outputs) {
  std::string words;
  for (const auto& output : outputs)
    words += text(words.empty() ? "" : ", ", TensorSpec{output.dtype(), output.shape()});
  return words;
}

void expect_alike(const MemberAnswer& a, const MemberAnswer& b) {
  const auto alike = [](const Tensor& x, const Tensor& y) {
    return x.dtype() == y.dtype() && x.shape() == y.shape();
  };
  if (!std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), alike))
    fail(Code::invalid_argument, "members do not fit together: '", a.member, "' answers ",
         specs_of(a.outputs), ", but '", b.member, "' answers ", specs_of(b.outputs));
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

}  // namespace

void validate(const EnsembleOptions& options) {
  if (options.quorum < 0 || options.max_outstanding < 1 || !options.combiner)
    fail(Code::invalid_argument, "ensemble '", options.name,
         "' needs a combiner, a quorum of 0 or more, and at least 1 outstanding query");
}

void EnsembleState::start(EnsembleOptions options) {
  validate(options);
  options_ = std::move(options);
  counts_.name = options_.name;
}

// ---- members ---------------------------------------------------------------------------------

std::map<EnsembleState::MemberId, EnsembleState::Seat>::iterator EnsembleState::seat_of(
    const std::string& name) {
  const auto found = std::find_if(seats_.begin(), seats_.end(), [&](const auto& seat) {
    return !seat.second.left && seat.second.status.name == name;
  });
  return found;
}

caf::ok_atom EnsembleState::join(const std::string& name, const Member& member, double weight) {
  if (name.empty() || !member || !(weight > 0) || !std::isfinite(weight))
    fail(Code::invalid_argument, "ensemble '", options_.name,
         "': a member needs a name and a weight above 0, but got '", name, "' and ", weight);
  if (seat_of(name) != seats_.end())
    fail(Code::already_exists, "ensemble '", options_.name, "' has a member '", name,
         "' already: let that one leave first");
  Seat seat;
  seat.actor = member;
  seat.status.name = name;
  seat.status.weight = weight;
  self_->monitor(member);
  seats_.emplace(next_member_++, std::move(seat));
  return caf::ok_atom_v;
}

caf::result<caf::ok_atom> EnsembleState::leave(const std::string& name) {
  const auto found = seat_of(name);
  if (found == seats_.end())
    fail(Code::not_found, "ensemble '", options_.name, "' has no member '", name, "'");
  found->second.left = true;
  auto farewell = found->second.farewell = self_->make_response_promise<caf::ok_atom>();
  forget_if_done(found->first);
  return farewell;
}

caf::result<caf::ok_atom> EnsembleState::assign(const std::string& name,
                                                const Parameters& weights) {
  const auto found = seat_of(name);
  if (found == seats_.end())
    fail(Code::not_found, "ensemble '", options_.name, "' has no member '", name, "'");
  return self_->delegate(found->second.actor, assign_atom_v, weights);
}

/// A member that has left is kept until it owes no more answers.
void EnsembleState::forget_if_done(MemberId member) {
  const auto found = seats_.find(member);
  if (found == seats_.end() || !found->second.left || found->second.status.outstanding > 0) return;
  self_->demonitor(found->second.actor.address());
  found->second.farewell.deliver(caf::ok_atom_v);
  seats_.erase(found);
}

void EnsembleState::lose(const caf::down_msg& down) {
  const auto found = std::find_if(seats_.begin(), seats_.end(), [&](const auto& seat) {
    return seat.second.actor.address() == down.source;
  });
  if (found == seats_.end()) return;
  const auto member = found->first;
  const auto name = found->second.status.name;
  if (found->second.left) found->second.farewell.deliver(caf::ok_atom_v);
  seats_.erase(found);
  const auto failure =
      fault(Code::unavailable, "member '", name,
            "' ended: ", down.reason ? to_error(down.reason).what() : "it was done");
  std::vector<QueryId> touched;
  for (const auto& [id, query] : queries_)
    if (query.pending.contains(member)) touched.push_back(id);
  for (const auto id : touched) take_failure(id, member, failure);
}

// ---- queries ---------------------------------------------------------------------------------

caf::error EnsembleState::too_few_in_time(const Query& query) const {
  return fault(Code::deadline_exceeded,
               text("ensemble '", options_.name, "' has ", query.answers.size(), " of ",
                    query.quorum, " answers at its deadline; missing: ", joined(query.missing)));
}

caf::result<EnsembleAnswer> EnsembleState::run(const TensorList& inputs) {
  ++counts_.queries;
  Query query;
  std::vector<MemberId> asked;
  std::int64_t live = 0;
  for (auto& [id, seat] : seats_) {
    if (seat.left) continue;
    ++live;
    if (seat.status.outstanding < options_.max_outstanding) {
      asked.push_back(id);
      query.pending.emplace(id, seat.status.name);
    } else {
      ++seat.status.skipped;
      query.missing.push_back(
          text(seat.status.name, " (has ", seat.status.outstanding, " queries left to answer)"));
    }
  }
  query.quorum = options_.quorum == 0 ? live : options_.quorum;
  const auto refused = [&](Code code, const std::string& why) -> caf::result<EnsembleAnswer> {
    ++counts_.failed;
    return fault(code, "ensemble '", options_.name, "' ", why);
  };
  if (live == 0) return refused(Code::unavailable, "has no members");
  if (live < query.quorum)
    return refused(Code::unavailable,
                   text("has ", live, " members, fewer than its quorum of ", query.quorum));
  if (static_cast<std::int64_t>(asked.size()) < query.quorum)
    return refused(Code::resource_exhausted,
                   text("cannot ask a quorum of ", query.quorum, ": ", joined(query.missing)));
  const auto id = next_query_++;
  query.promise = self_->make_response_promise<EnsembleAnswer>();
  auto promise = query.promise;
  if (options_.deadline != kForever) {
    query.deadline = self_->clock().now() + options_.deadline;
    tick_at(self_, query.deadline);
  }
  queries_.emplace(id, std::move(query));
  for (const auto member : asked) ask(id, member, inputs);
  return promise;
}

void EnsembleState::ask(QueryId id, MemberId member, const TensorList& inputs) {
  auto& seat = seats_.at(member);
  ++seat.status.outstanding;
  self_->request(seat.actor, caf::infinite, run_atom_v, inputs)
      .then([this, id, member](TensorList& outputs) { take_answer(id, member, outputs); },
            [this, id, member](caf::error& error) {
              answered(member);
              take_failure(id, member, error);
              forget_if_done(member);
            });
}

/// The member owes one answer less; nullptr when it is gone.
EnsembleState::Seat* EnsembleState::answered(MemberId member) {
  const auto found = seats_.find(member);
  if (found == seats_.end()) return nullptr;
  --found->second.status.outstanding;
  return &found->second;
}

void EnsembleState::take_answer(QueryId id, MemberId member, TensorList& outputs) {
  auto* seat = answered(member);
  const auto found = queries_.find(id);
  const bool wanted = found != queries_.end() && found->second.pending.contains(member);
  if (!wanted) {
    if (seat) ++seat->status.late;
  } else if (outputs.empty() || std::any_of(outputs.begin(), outputs.end(), has_nan)) {
    take_failure(id, member,
                 fault(Code::invalid_argument, "member '", found->second.pending.at(member), "' ",
                       outputs.empty() ? "has no outputs" : "answered NaN"));
  } else {
    auto& query = found->second;
    MemberAnswer answer{query.pending.at(member), 1, std::move(outputs)};
    if (seat) {
      ++seat->status.answered;
      answer.weight = seat->status.weight;
    }
    query.pending.erase(member);
    query.answers.emplace(member, std::move(answer));
    settle(id);
  }
  forget_if_done(member);
}

void EnsembleState::take_failure(QueryId id, MemberId member, const caf::error& error) {
  const auto words = render(error);
  if (const auto seat = seats_.find(member); seat != seats_.end()) {
    ++seat->second.status.failed;
    seat->second.status.last_failure = words;
  }
  const auto found = queries_.find(id);
  if (found == queries_.end()) return;
  auto& query = found->second;
  const auto pending = query.pending.find(member);
  if (pending == query.pending.end()) return;
  query.missing.push_back(text(pending->second, " (", words, ")"));
  if (!query.first_failure) query.first_failure = error;
  query.pending.erase(pending);
  settle(id);
}

/// Ends a query about which nothing more is to be learned.
void EnsembleState::settle(QueryId id) {
  const auto at = queries_.find(id);
  if (at == queries_.end()) return;
  auto& query = at->second;
  const auto answers = static_cast<std::int64_t>(query.answers.size());
  const auto possible = answers + static_cast<std::int64_t>(query.pending.size());
  if (possible < query.quorum)
    fail_query(
        at,
        fault(to_error(query.first_failure)
                  .within(text("ensemble '", options_.name, "': no quorum of ", query.quorum))));
  else if (query.pending.empty() || (options_.first_quorum && answers >= query.quorum))
    finish(at);
}

void EnsembleState::finish(std::map<QueryId, Query>::iterator at) {
  auto query = std::move(at->second);
  queries_.erase(at);
  EnsembleAnswer answer;
  try {
    std::vector<MemberAnswer> answers;
    for (auto& [member, said] : query.answers) {
      answer.answered.push_back(said.member);
      answers.push_back(std::move(said));
      expect_alike(answers.front(), answers.back());
    }
    answer.outputs = options_.combiner(answers);
  } catch (...) {
    ++counts_.failed;
    query.promise.deliver(current_fault());
    return;
  }
  ++counts_.answered;
  answer.missing = std::move(query.missing);
  for (const auto& [member, name] : query.pending) answer.missing.push_back(name + " (late)");
  query.promise.deliver(std::move(answer));
}

void EnsembleState::fail_query(std::map<QueryId, Query>::iterator at, const caf::error& error) {
  ++counts_.failed;
  auto promise = std::move(at->second.promise);
  queries_.erase(at);
  promise.deliver(error);
}

/// Ends the queries whose time is up.
void EnsembleState::expire() {
  const auto now = self_->clock().now();
  for (auto at = queries_.begin(); at != queries_.end();) {
    const auto next = std::next(at);
    auto& query = at->second;
    if (query.deadline <= now) {
      if (static_cast<std::int64_t>(query.answers.size()) >= query.quorum) {
        finish(at);
      } else {
        for (const auto& [member, name] : query.pending) query.missing.push_back(name + " (late)");
        fail_query(at, too_few_in_time(query));
      }
    }
    at = next;
  }
}

EnsembleStatus EnsembleState::status() const {
  auto status = counts_;
  for (const auto& [id, seat] : seats_)
    if (!seat.left) status.members.push_back(seat.status);
  return status;
}

// ---- the actor -------------------------------------------------------------------------------

Ensemble::behavior_type ensemble(Ensemble::stateful_pointer<EnsembleState> self,
                                 EnsembleOptions options) {
  auto& state = self->state;
  state.start(std::move(options));
  on_tick(self, [&state] { state.expire(); });
  self->set_down_handler([&state](const caf::down_msg& down) { state.lose(down); });
  return {
      [&state](run_atom, const TensorList& inputs) { return state.run(inputs); },
      [&state](join_atom, const std::string& name, const Member& member, double weight) {
        return answer([&] { return state.join(name, member, weight); });
      },
      [&state](leave_atom, const std::string& name) -> caf::result<caf::ok_atom> {
        try {
          return state.leave(name);
        } catch (...) {
          return current_fault();
        }
      },
      [&state](assign_atom, const std::string& name,
               const Parameters& weights) -> caf::result<caf::ok_atom> {
        try {
          return state.assign(name, weights);
        } catch (...) {
          return current_fault();
        }
      },
      [&state](status_atom) { return state.status(); },
  };
}

}  // namespace troupe
