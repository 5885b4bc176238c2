#include "troupe/actors/parameters/parameter_shard.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/aggregation/weighted_sum.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = Shard::stateful_pointer<ShardState>;
using Clock = std::chrono::steady_clock;

IntraOp& threads(const ShardOptions& options) {
  return options.threads ? *options.threads : serial();
}

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

// ---- what replicas send ----------------------------------------------------------------------

/// Looks at a set that is whole now.
SetReport report(const ShardState& state, const ShardOptions& options, const GradientCommit& commit,
                 const std::vector<GradientPart>& parts) {
  SetReport report{options.index, commit, Code::ok, {}, {}};
  try {
    for (const auto& part : parts) {
      state.store->check(part);
      if (options.look_for_nan && report.not_finite.empty() &&
          !all_finite(part.values, threads(options)))
        report.not_finite = part.variable;
    }
  } catch (...) {
    const auto error = to_error(current_fault());
    report.code = error.code();
    report.fault = error.what();
  }
  return report;
}

void push(ShardState& state, GradientPart& part) {
  const auto found = state.members.find(part.replica);
  // It has left: its commit will be told.
  if (found == state.members.end() || found->second.left) return;
  auto& m = found->second;
  if (part.step <= m.last_step) return;  // repeated
  auto& set = m.sets[part.step];
  if (!set.commit) set.parts.push_back(std::move(part));
}

caf::result<ApplyResult> commit(Self self, const ShardOptions& options,
                                const GradientCommit& request) {
  auto& state = self->state;
  try {
    auto& m = member(state, request.replica, self->current_sender()->address());
    if (request.step <= m.last_step)  // repeated: it has been decided on
      return ApplyResult{SetFate::applied,    0,
                         state.learning_rate, state.store->parameters(false),
                         state.instructions,  state.store->version()};
    if (m.promise.pending())
      return fault(Code::failed_precondition, state.title, ": replica ", request.replica,
                   " committed step ", request.step, " while step ",
                   m.sets.empty() ? 0 : m.sets.rbegin()->first, " is waiting for the others");
    // Sets that were never committed are of steps that it has given up.
    for (auto i = m.sets.begin(); i != m.sets.end();)
      i = i->first != request.step && !i->second.commit ? m.sets.erase(i) : std::next(i);
    auto& set = m.sets[request.step];
    set.commit = request;
    if (request.given_up) set.parts.clear();
    const auto begun = Clock::now();
    self->send(options.coordinator, ready_atom_v, report(state, options, request, set.parts));
    state.busy += Clock::now() - begun;
    m.result = {};
    m.result.step = state.store->version() + 1;
    m.promise = self->make_response_promise<ApplyResult>();
    return m.promise;
  } catch (...) {
    return current_fault();
  }
}

caf::result<ApplyResult> join(Self self, const ShardOptions& options, std::uint32_t replica) {
  auto& m = self->state.members[replica];
  const auto sender = caf::actor_cast<caf::actor>(self->current_sender());
  if (m.promise.pending())
    m.promise.deliver(
        fault(Code::cancelled, self->state.title, ": replica ", replica, " has joined again"));
  // Whole sets of one that was here before are still to be decided on.
  std::erase_if(m.sets, [](const auto& set) { return !set.second.commit; });
  m.left = false;
  m.address = sender.address();
  m.joins = true;
  m.result = {};
  m.promise = self->make_response_promise<ApplyResult>();
  self->send(options.coordinator, join_atom_v, options.index, replica,
             caf::actor_cast<Replica>(sender));
  return m.promise;
}

void leave(Self self, const ShardOptions& options, std::uint32_t replica) {
  const auto found = self->state.members.find(replica);
  if (found == self->state.members.end()) return;
  self->send(options.coordinator, leave_atom_v, options.index, replica, found->second.address);
}

// ---- what the coordinator decides ------------------------------------------------------------

/// Takes a set out for good; empty when it is not here.
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

std::vector<GradientSet> take_sets(ShardState& state, const RoundDecision& decision) {
  std::vector<GradientSet> sets;
  for (const auto& chosen : decision.members) {
    auto set = take_set(state, chosen.replica, chosen.step);
    if (!set || !set->commit)
      fail(Code::internal, state.title, ": the set of replica ", chosen.replica, ", step ",
           chosen.step, " is not here");
    if (chosen.share != 0) {
      state.staleness.add(chosen.staleness);
      sets.push_back({*set->commit, std::move(set->parts), chosen.share});
    }
    const auto found = state.members.find(chosen.replica);
    if (found == state.members.end()) continue;
    auto& result = found->second.result;
    result.fate = SetFate::applied;
    result.staleness = chosen.staleness;
    result.step = state.store->version() + decision.updates;
  }
  return sets;
}

void refuse(ShardState& state, const Refusal& refusal) {
  take_set(state, refusal.replica, refusal.step);
  const auto found = state.members.find(refusal.replica);
  if (found == state.members.end()) return;
  auto& m = found->second;
  m.result.fate = refusal.fate;
  m.result.staleness = refusal.staleness;
  if (refusal.code != Code::ok && m.promise.pending())
    m.promise.deliver(fault(refusal.code, refusal.message));
}

void depart(ShardState& state, std::uint32_t replica) {
  const auto found = state.members.find(replica);
  if (found == state.members.end()) return;
  auto& m = found->second;
  if (m.joins) return;  // another one joins in its place
  if (m.promise.pending())
    m.promise.deliver(fault(Code::cancelled, state.title, ": replica ", replica,
                            " left while its update was waiting"));
  m.left = true;
  std::erase_if(m.sets, [](const auto& set) { return !set.second.commit; });
  if (m.sets.empty()) state.members.erase(found);
}

void release(ShardState& state, std::uint32_t replica) {
  const auto found = state.members.find(replica);
  if (found == state.members.end()) return;
  auto& m = found->second;
  if (!m.promise.pending()) return;
  auto result = std::exchange(m.result, {});
  result.learning_rate = state.learning_rate;
  result.next = state.instructions;
  result.parameters = state.store->parameters(m.joins, state.instructions.local_steps > 0);
  if (std::exchange(m.joins, false)) {
    m.sets.clear();
    m.last_step = 0;
  }
  m.promise.deliver(std::move(result));
}

/// The update is made, or failed, or there was none.
void finish(Self self, const ShardOptions& options, const SnapshotSink& sink, Version before) {
  auto& state = self->state;
  const auto decision = std::move(*state.decision);
  state.decision.reset();
  const auto failure = std::exchange(state.failure, {});
  const auto now = state.store->version();
  if (now != before) {
    ++state.updates;
    const auto every = options.snapshot_every;
    if (sink && every > 0 && now / every != before / every)
      self->send(sink, snapshot_atom_v, state.store->snapshot(options.index));
  }
  if (failure)
    for (const auto& chosen : decision.members) {
      const auto found = state.members.find(chosen.replica);
      if (found != state.members.end() && found->second.promise.pending())
        found->second.promise.deliver(failure);
    }
  if (!decision.policy.empty()) state.policy = make_policy(decision.policy);
  for (const auto replica : decision.departed) depart(state, replica);
  state.instructions = decision.next;
  for (const auto replica : decision.released) release(state, replica);
}

/// Does what is decided; with clipping only half of it.
void decide(Self self, const ShardOptions& options, const SnapshotSink& sink,
            RoundDecision& given) {
  auto& state = self->state;
  const auto begun = Clock::now();
  const auto before = state.store->version();
  state.decision = std::move(given);
  const auto& decision = *state.decision;
  const bool waits = decision.clip_norm > 0 && decision.updates > 0;
  for (const auto& refusal : decision.refused) refuse(state, refusal);
  double norm = 0;
  try {
    const auto sets = take_sets(state, decision);
    if (waits) {
      state.combined = state.store->combine(sets, *state.policy, threads(options));
      state.combined.updates = decision.updates;
      norm = state.combined.squared_norm(threads(options));
    } else if (decision.updates > 0) {
      state.learning_rate =
          state.store->apply(sets, *state.policy, decision.updates, threads(options));
    }
  } catch (...) {
    state.failure = current_failure();
  }
  state.busy += Clock::now() - begun;
  if (waits)
    self->send(options.coordinator, norm_atom_v, options.index, norm);
  else
    finish(self, options, sink, before);
}

/// The other half: the norm of all shards together is known.
void apply_scaled(Self self, const ShardOptions& options, const SnapshotSink& sink, double factor) {
  auto& state = self->state;
  if (!state.decision) return;
  const auto begun = Clock::now();
  const auto before = state.store->version();
  try {
    if (!state.failure) {
      state.combined.scale(factor, threads(options));
      state.learning_rate = state.store->apply(std::move(state.combined), threads(options));
    }
  } catch (...) {
    state.failure = current_failure();
  }
  state.combined = {};
  state.busy += Clock::now() - begun;
  finish(self, options, sink, before);
}

void attach(Self self, const ShardOptions& options) {
  self->send(options.coordinator, attach_atom_v, options.index, caf::actor_cast<Shard>(self),
             self->state.store->version());
}

}  // namespace

Shard::behavior_type parameter_shard(Self self, ShardOptions options, SnapshotSink sink) {
  self->state.title = text("shard ", options.index);
  self->state.store =
      std::make_unique<ParameterStore>(self->state.title, options.variables, options.optimizer,
                                       options.schedule, options.average_decay);
  options.variables.clear();  // the store has them: nobody else may hold them
  self->state.policy = make_policy(options.policy);
  attach(self, options);
  return {
      [self](pull_atom, Version known) {
        ++self->state.pulls;
        const auto& store = *self->state.store;
        return known == store.version() ? Parameters{known, {}, {}, {}} : store.parameters(true);
      },
      [self](push_atom, GradientPart& part) { push(self->state, part); },
      [self, options](commit_atom, const GradientCommit& request) {
        return commit(self, options, request);
      },
      [self, options](join_atom, std::uint32_t replica) { return join(self, options, replica); },
      [self, options](leave_atom, std::uint32_t replica) {
        leave(self, options, replica);
        return caf::ok_atom_v;
      },
      [self, options, sink](decide_atom, RoundDecision& decision) {
        decide(self, options, sink, decision);
      },
      [self, options, sink](norm_atom, double factor) {
        apply_scaled(self, options, sink, factor);
      },
      [self, options](snapshot_atom) { return self->state.store->snapshot(options.index); },
      [self, options](restore_atom, const ShardSnapshot& snapshot) {
        return answer([&] {
          self->state.store->restore(snapshot);
          attach(self, options);
          return caf::ok_atom_v;
        });
      },
      [self](status_atom) {
        const auto& s = self->state;
        const auto here = std::count_if(s.members.begin(), s.members.end(), [](const auto& m) {
          return !m.second.left && !m.second.joins;
        });
        return ShardStatus{s.title, s.store->version(), s.store->bytes(), s.pulls, s.updates, here,
                           s.busy,  s.staleness};
      },
  };
}

}  // namespace troupe
