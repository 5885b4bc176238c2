#include "troupe/actors/parameters/shard_replicas.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <iterator>
#include <utility>

#include "troupe/actors/aggregation/weighted_sum.h"
#include "troupe/actors/parameters/shard_copies.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ShardSelf;
using Clock = std::chrono::steady_clock;

ShardState::Member& member(ShardState& state, std::uint32_t replica, const caf::actor_addr& from) {
  const auto found = state.members.find(replica);
  if (found == state.members.end() || found->second.left)
    fail(Code::failed_precondition, state.title, ": replica ", replica,
         " has not joined, or has left");
  if (found->second.address != from)
    fail(Code::failed_precondition, state.title, ": replica ", replica,
         " is another actor than the one that joined");
  return found->second;
}

/// Looks at a part of a set. That is done when it comes, while its replica still computes the
/// others: when the set is whole, the replica waits.
void look_at(const ShardState& state, const ShardOptions& options, const GradientPart& part,
             ShardState::Set& set) {
  if (set.code != Code::ok) return;
  try {
    state.store->check(part);
    if (options.look_for_nan && set.not_finite.empty() &&
        !all_finite(part.values, options.intra_op()))
      set.not_finite = part.variable;
  } catch (...) {
    const auto error = to_error(current_fault());
    set.code = error.code();
    set.fault = error.what();
  }
}

/// The set is whole now.
void report_set(Self self, const ShardOptions& options, const ShardState::Set& set) {
  auto& state = self->state;
  if (!state.primary) return;
  SetReport about{options.index, *set.commit, set.code, set.fault, set.not_finite};
  about.decisions = state.decisions;
  state.say([self, to = options.coordinator, about = std::move(about)] {
    self->send(to, ready_atom_v, about);
  });
}

/// What the replica was told before, with the parameters of now.
ApplyResult told_before(const ShardState& state, const ShardState::Member& m, bool with_names) {
  auto result = m.answered;
  result.parameters = state.store->parameters(with_names, state.instructions.local_steps > 0);
  return result;
}

}  // namespace

void push(ShardState& state, const ShardOptions& options, GradientPart& part) {
  ++state.pushes;
  if (part.kind == PartKind::sparse_gradient)
    state.pushed_rows += static_cast<std::uint64_t>(part.indices.size());
  const auto found = state.members.find(part.replica);
  // It has left: its commit will be told.
  if (found == state.members.end() || found->second.left) return;
  auto& m = found->second;
  if (part.step <= m.last_step) return;  // repeated
  auto& set = m.sets[part.step];
  if (set.commit) return;
  const auto begun = Clock::now();
  state.store->decompress(part);
  if (state.primary) look_at(state, options, part, set);
  set.parts.push_back(std::move(part));
  state.busy += Clock::now() - begun;
}

bool is_repeated(const ShardState& state, const GradientPart& part) {
  if (!state.took_over) return false;
  const auto found = state.members.find(part.replica);
  if (found == state.members.end()) return false;
  const auto set = found->second.sets.find(part.step);
  if (set == found->second.sets.end()) return false;
  const auto same = [&](const GradientPart& other) {
    return other.variable == part.variable && other.kind == part.kind && other.slot == part.slot;
  };
  return std::any_of(set->second.parts.begin(), set->second.parts.end(), same);
}

bool note_commit(Self self, const ShardOptions& options, const GradientCommit& request,
                 const caf::actor_addr& sender) {
  auto& state = self->state;
  auto& m = member(state, request.replica, sender);
  const auto step = m.sets.empty() ? m.last_step : std::max(m.last_step, m.sets.rbegin()->first);
  const bool repeated =
      request.step <= m.last_step || (m.sets.count(request.step) && m.sets[request.step].commit);
  if (repeated) return m.waits;
  if (m.waits || m.joins)
    fail(Code::failed_precondition, state.title, ": replica ", request.replica, " committed step ",
         request.step, " while step ", step, " is waiting for the others");
  // Sets that were never committed are of steps that it has given up.
  for (auto i = m.sets.begin(); i != m.sets.end();)
    i = i->first != request.step && !i->second.commit ? m.sets.erase(i) : std::next(i);
  auto& set = m.sets[request.step];
  set.commit = request;
  if (request.given_up) {
    set = {};
    set.commit = request;
  }
  report_set(self, options, set);
  m.waits = true;
  m.result = {};
  m.result.step = state.store->version() + 1;
  return true;
}

caf::result<ApplyResult> commit(Self self, const ShardOptions& options,
                                const GradientCommit& request) {
  auto& state = self->state;
  const auto sender = self->current_sender()->address();
  tell_copies(self, ShardEntryKind::commit, [&](ShardEntry& entry) {
    entry.commit = request;
    entry.sender = sender;
  });
  try {
    const bool waits = note_commit(self, options, request, sender);
    auto& m = state.members.at(request.replica);
    auto promise = self->make_response_promise<ApplyResult>();
    if (waits && m.promise.pending())
      m.promise.deliver(fault(Code::cancelled, state.title, ": replica ", request.replica,
                              " has committed step ", request.step, " again"));
    if (waits)
      m.promise = promise;
    else
      state.say([promise, result = told_before(state, m, false)]() mutable {
        promise.deliver(std::move(result));
      });
    return promise;
  } catch (...) {
    return current_fault();
  }
}

bool note_join(ShardState& state, std::uint32_t replica, const caf::actor_addr& sender) {
  const auto known = state.members.find(replica);
  if (known != state.members.end() && !known->second.left && known->second.address == sender)
    if (!known->second.joins) return false;
  auto& m = state.members[replica];
  if (m.promise.pending())
    m.promise.deliver(
        fault(Code::cancelled, state.title, ": replica ", replica, " has joined again"));
  // Whole sets of one that was here before are still to be decided on.
  std::erase_if(m.sets, [](const auto& set) { return !set.second.commit; });
  m.left = false;
  m.address = sender;
  m.joins = true;
  m.waits = false;
  m.result = {};
  return true;
}

caf::result<ApplyResult> join(Self self, const ShardOptions& options, std::uint32_t replica) {
  auto& state = self->state;
  const auto sender = caf::actor_cast<caf::actor>(self->current_sender());
  tell_copies(self, ShardEntryKind::join, [&](ShardEntry& entry) {
    entry.replica = replica;
    entry.sender = sender.address();
  });
  const bool waits = note_join(state, replica, sender.address());
  auto& m = state.members[replica];
  auto promise = self->make_response_promise<ApplyResult>();
  if (!waits) {
    state.say([promise, result = told_before(state, m, true)]() mutable {
      promise.deliver(std::move(result));
    });
    return promise;
  }
  m.promise = promise;
  state.say([self, to = options.coordinator, index = options.index, replica,
             handle = caf::actor_cast<Replica>(sender)] {
    self->send(to, join_atom_v, index, replica, handle);
  });
  return promise;
}

void leave(Self self, const ShardOptions& options, std::uint32_t replica) {
  const auto found = self->state.members.find(replica);
  if (found == self->state.members.end()) return;
  self->state.say(
      [self, to = options.coordinator, index = options.index, replica,
       who = found->second.address] { self->send(to, leave_atom_v, index, replica, who); });
}

void report_sets(Self self, const ShardOptions& options) {
  for (auto& [replica, m] : self->state.members)
    for (auto& [step, set] : m.sets) {
      for (const auto& part : set.parts) look_at(self->state, options, part, set);
      if (set.commit) report_set(self, options, set);
    }
}

// ---- what becomes of them --------------------------------------------------------------------

std::optional<ShardState::Set> take_set(ShardState& state, std::uint32_t replica,
                                        std::uint64_t step) {
  const auto found = state.members.find(replica);
  if (found == state.members.end()) return std::nullopt;
  auto& m = found->second;
  m.last_step = std::max(m.last_step, step);
  auto set = m.sets.extract(step);
  if (m.left && m.sets.empty()) state.members.erase(found);
  if (set.empty()) return std::nullopt;
  return std::move(set.mapped());
}

void fail_commit(ShardState& state, std::uint32_t replica, const caf::error& why) {
  const auto found = state.members.find(replica);
  if (found == state.members.end() || !found->second.waits) return;
  found->second.waits = false;
  state.say([promise = found->second.promise, why]() mutable {
    if (promise.pending()) promise.deliver(why);
  });
}

void refuse(ShardState& state, const Refusal& refusal) {
  take_set(state, refusal.replica, refusal.step);
  const auto found = state.members.find(refusal.replica);
  if (found == state.members.end()) return;
  auto& m = found->second;
  m.result.fate = refusal.fate;
  m.result.staleness = refusal.staleness;
  if (refusal.code != Code::ok)
    fail_commit(state, refusal.replica, fault(refusal.code, refusal.message));
}

void depart(ShardState& state, std::uint32_t replica) {
  const auto found = state.members.find(replica);
  if (found == state.members.end()) return;
  auto& m = found->second;
  if (m.joins) return;  // another one joins in its place
  if (m.promise.pending())
    m.promise.deliver(fault(Code::cancelled, state.title, ": replica ", replica,
                            " left while its update was waiting"));
  m.waits = false;
  m.left = true;
  std::erase_if(m.sets, [](const auto& set) { return !set.second.commit; });
  if (m.sets.empty()) state.members.erase(found);
}

void release(ShardState& state, std::uint32_t replica) {
  const auto found = state.members.find(replica);
  if (found == state.members.end()) return;
  auto& m = found->second;
  if (!m.waits && !m.joins) return;
  auto result = std::exchange(m.result, {});
  result.learning_rate = state.learning_rate;
  result.next = state.instructions;
  m.answered = result;
  const bool joins = std::exchange(m.joins, false);
  m.waits = false;
  if (joins) {
    m.sets.clear();
    m.last_step = 0;
  }
  if (!m.promise.pending()) return;  // this is a copy, or the replica will ask again
  result.parameters = state.store->parameters(joins, state.instructions.local_steps > 0);
  state.say([promise = std::exchange(m.promise, {}), result = std::move(result)]() mutable {
    promise.deliver(std::move(result));
  });
}

}  // namespace troupe
