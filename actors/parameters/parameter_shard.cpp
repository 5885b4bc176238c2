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

// ---- copies ----------------------------------------------------------------------------------

/// Tells somebody something once all copies have what it follows from.
template <class Say>
void say(ShardState& state, Say what) {
  if (!state.primary) return;
  if (state.effects.free())
    what();
  else
    state.effects.add(std::move(what));
}

void send_to_mirror(Self self, const ShardMirror& mirror, const ShardEntry& entry,
                    std::uint64_t number) {
  self->request(mirror, caf::infinite, log_atom_v, entry)
      .then(
          [self, mirror, number](caf::ok_atom) { self->state.effects.acknowledge(mirror, number); },
          // It has ended: whoever keeps the copies says who is left.
          [](const caf::error&) {});
}

/// Has the copies do what this one is about to do.
template <class MakeEntry>
void log(Self self, MakeEntry make_entry) {
  auto& state = self->state;
  if (!state.primary) return;
  const auto mirrors = state.effects.mirrors();
  if (mirrors.empty()) return;
  const auto number = state.effects.log();
  const ShardEntry entry = make_entry();
  for (const auto& mirror : mirrors) send_to_mirror(self, mirror, entry, number);
}

ShardSnapshot snapshot_of(const ShardState& state, const ShardOptions& options) {
  auto snapshot = state.store->snapshot(options.index);
  snapshot.group = options.group;
  snapshot.own_version = snapshot.version;
  return snapshot;
}

ShardCopy copy_of(const ShardState& state, const ShardOptions& options) {
  ShardCopy copy;
  copy.store = state.store->snapshot(options.index);
  for (const auto& [replica, m] : state.members) {
    MemberCopy to{replica, m.address, m.last_step, {},        m.waits,
                  m.joins, m.left,    m.result,    m.answered};
    for (const auto& [step, set] : m.sets)
      to.sets.push_back(
          {step, set.commit.has_value(), set.commit.value_or(GradientCommit()), set.parts});
    copy.members.push_back(std::move(to));
  }
  copy.instructions = state.instructions;
  copy.policy = state.policy_text;
  copy.decisions = state.decisions;
  copy.learning_rate = state.learning_rate;
  copy.staleness = state.staleness;
  copy.updates = state.updates;
  return copy;
}

void become(ShardState& state, const ShardCopy& copy) {
  state.store->restore(copy.store);
  state.members.clear();
  for (const auto& from : copy.members) {
    auto& m = state.members[from.replica];
    m.address = from.address;
    m.last_step = from.last_step;
    m.waits = from.waits;
    m.joins = from.joins;
    m.left = from.left;
    m.result = from.result;
    m.answered = from.answered;
    for (const auto& set : from.sets) {
      auto& to = m.sets[set.step];
      if (set.committed) to.commit = set.commit;
      to.parts = set.parts;
    }
  }
  state.instructions = copy.instructions;
  state.policy = make_policy(copy.policy);
  state.policy_text = copy.policy;
  state.decisions = copy.decisions;
  state.learning_rate = copy.learning_rate;
  state.staleness = copy.staleness;
  state.updates = copy.updates;
  state.whole = true;
}

/// Those that are new are told all that there is. Between two halves of a decision there is
/// more than can be told.
void mirror(Self self, const ShardOptions& options, const std::vector<ShardMirror>& mirrors) {
  auto& state = self->state;
  std::vector<ShardMirror> known, added;
  for (const auto& one : mirrors) (state.effects.expects(one) ? known : added).push_back(one);
  state.next_mirrors.clear();
  if (state.decision) {
    state.effects.expect(known);
    if (!added.empty()) state.next_mirrors = mirrors;
    return;
  }
  state.effects.expect(mirrors);
  if (added.empty()) return;
  const auto number = state.effects.last();
  const auto copy = copy_of(state, options);
  for (const auto& one : added)
    self->request(one, caf::infinite, mirror_atom_v, copy)
        .then([self, one, number](caf::ok_atom) { self->state.effects.acknowledge(one, number); },
              [](const caf::error&) {});
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

/// Looks at a part of a set. That is done when it comes, while its replica still computes the
/// others: when the set is whole, the replica waits.
void look_at(const ShardState& state, const ShardOptions& options, const GradientPart& part,
             ShardState::Set& set) {
  if (set.code != Code::ok) return;
  try {
    state.store->check(part);
    if (options.look_for_nan && set.not_finite.empty() &&
        !all_finite(part.values, threads(options)))
      set.not_finite = part.variable;
  } catch (...) {
    const auto error = to_error(current_fault());
    set.code = error.code();
    set.fault = error.what();
  }
}

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

/// The set is whole now.
void report_set(Self self, const ShardOptions& options, const ShardState::Set& set) {
  auto& state = self->state;
  if (!state.primary) return;
  SetReport about{options.index, *set.commit, set.code, set.fault, set.not_finite};
  about.decisions = state.decisions;
  say(state, [self, to = options.coordinator, about = std::move(about)] {
    self->send(to, ready_atom_v, about);
  });
}

/// What the replica was told before, with the parameters of now.
ApplyResult told_before(const ShardState& state, const ShardState::Member& m, bool with_names) {
  auto result = m.answered;
  result.parameters = state.store->parameters(with_names, state.instructions.local_steps > 0);
  return result;
}

/// Takes note of the commit; false when it is one that was answered before.
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

/// Whether the set has the part already: the shard before this one may have had it.
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

caf::result<ApplyResult> commit(Self self, const ShardOptions& options,
                                const GradientCommit& request) {
  auto& state = self->state;
  const auto sender = self->current_sender()->address();
  log(self, [&] {
    ShardEntry entry;
    entry.kind = ShardEntryKind::commit;
    entry.commit = request;
    entry.sender = sender;
    return entry;
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
      say(state, [promise, result = told_before(state, m, false)]() mutable {
        promise.deliver(std::move(result));
      });
    return promise;
  } catch (...) {
    return current_fault();
  }
}

/// Takes note of the replica; false when it is here already and has been let go on.
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
  log(self, [&] {
    ShardEntry entry;
    entry.kind = ShardEntryKind::join;
    entry.replica = replica;
    entry.sender = sender.address();
    return entry;
  });
  const bool waits = note_join(state, replica, sender.address());
  auto& m = state.members[replica];
  auto promise = self->make_response_promise<ApplyResult>();
  if (!waits) {
    say(state, [promise, result = told_before(state, m, true)]() mutable {
      promise.deliver(std::move(result));
    });
    return promise;
  }
  m.promise = promise;
  say(state, [self, to = options.coordinator, index = options.index, replica,
              handle = caf::actor_cast<Replica>(sender)] {
    self->send(to, join_atom_v, index, replica, handle);
  });
  return promise;
}

void leave(Self self, const ShardOptions& options, std::uint32_t replica) {
  const auto found = self->state.members.find(replica);
  if (found == self->state.members.end()) return;
  say(self->state,
      [self, to = options.coordinator, index = options.index, replica,
       who = found->second.address] { self->send(to, leave_atom_v, index, replica, who); });
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

std::vector<GradientSet> take_sets(ShardState& state, const ShardOptions& options,
                                   const RoundDecision& decision) {
  std::vector<GradientSet> sets;
  for (const auto& chosen : decision.members) {
    if (options.reducer && chosen.replica != options.index) continue;  // it is at its own shard
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
  if (refusal.code == Code::ok || !m.waits) return;
  m.waits = false;
  say(state, [promise = m.promise, error = fault(refusal.code, refusal.message)]() mutable {
    if (promise.pending()) promise.deliver(error);
  });
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
  say(state, [promise = std::exchange(m.promise, {}), result = std::move(result)]() mutable {
    promise.deliver(std::move(result));
  });
}

void decide(Self self, const ShardOptions& options, const SnapshotSink& sink, RoundDecision& given);
void tell_norm(Self self, const ShardOptions& options);

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
    if (state.primary && sink && every > 0 && now / every != before / every)
      say(state, [self, sink, snapshot = snapshot_of(state, options)] {
        self->send(sink, snapshot_atom_v, snapshot);
      });
  }
  if (decision.keep > 0 && state.primary && sink) {
    auto snapshot = snapshot_of(state, options);
    snapshot.version = decision.keep;
    say(state, [self, sink, snapshot = std::move(snapshot)] {
      self->send(sink, snapshot_atom_v, snapshot);
    });
  }
  if (failure)
    for (const auto& chosen : decision.members) {
      const auto found = state.members.find(chosen.replica);
      if (found == state.members.end() || !found->second.waits) continue;
      found->second.waits = false;
      say(state, [promise = found->second.promise, failure]() mutable {
        if (promise.pending()) promise.deliver(failure);
      });
    }
  if (!decision.policy.empty()) {
    state.policy = make_policy(decision.policy);
    state.policy_text = decision.policy;
  }
  for (const auto replica : decision.departed) depart(state, replica);
  state.instructions = decision.next;
  state.decisions = std::max(state.decisions, decision.number);
  for (const auto replica : decision.released) release(state, replica);
  if (!state.next_mirrors.empty()) mirror(self, options, std::exchange(state.next_mirrors, {}));
}

/// The update in hand, which other shards make too, cannot be made here.
void tell_failure(Self self, const ShardOptions& options, const caf::error& why) {
  const auto number = self->state.decision->number;
  say(self->state, [self, to = options.coordinator, index = options.index, number, why] {
    self->send(to, norm_atom_v, index, number, why);
  });
}

/// No replica is at fault, and none that is started again would make up for it.
caf::error lost_update(const ShardState& state, const Error& error) {
  const auto code = error.code() == Code::internal ? Code::failed_precondition : error.code();
  return fault(code, state.title, ": an update could not be made: ", error.what());
}

/// Adds up gradients with the shards of the other replicas, and says so when it has the sum.
void reduce(Self self, const ShardOptions& options, const std::vector<GradientSet>& sets) {
  auto& state = self->state;
  const auto& decision = *state.decision;
  const double share = sets.empty() ? 0 : sets[0].share;
  auto brought = reduction_of(state.combined, share, options.parts, *state.store);
  const auto in_hand = [self, number = decision.number] {
    const auto& decision = self->state.decision;
    return decision && decision->number == number;
  };
  self->request(options.reducer, caf::infinite, run_atom_v, decision.number, std::move(brought))
      .then(
          [self, options, in_hand](const Reduction& all) {
            if (!in_hand()) return;
            auto& state = self->state;
            const auto& decision = *state.decision;
            try {
              state.combined = gradients_of(all, options.parts, *state.store, decision.updates);
              state.norm =
                  decision.clip_norm > 0 ? state.combined.squared_norm(threads(options)) : 0;
              tell_norm(self, options);
            } catch (...) {
              tell_failure(self, options, lost_update(state, to_error(current_failure())));
            }
          },
          [self, options, in_hand](const caf::error& error) {
            // When a member is gone, the update will be taken back.
            if (in_hand() && code_of(error) != Code::unavailable)
              tell_failure(self, options, lost_update(self->state, to_error(error)));
          });
}

/// Not all shards will have the sum. The sets that it was made of are gone.
void cancel(Self self, std::uint64_t number) {
  auto& state = self->state;
  if (!state.decision || state.decision->number != number) return;
  state.decision.reset();
  state.combined = {};
}

void tell_norm(Self self, const ShardOptions& options) {
  auto& state = self->state;
  say(state,
      [self, to = options.coordinator, index = options.index, number = state.decision->number,
       norm = state.norm] { self->send(to, norm_atom_v, index, number, norm); });
}

/// Does what is decided; with clipping only half of it.
void decide(Self self, const ShardOptions& options, const SnapshotSink& sink,
            RoundDecision& given) {
  auto& state = self->state;
  const bool again = given.number > 0 && given.number <= state.decisions;
  if (again) return;
  if (state.decision) {  // this one is told again
    if (!options.reducer) tell_norm(self, options);
    return;
  }
  log(self, [&] {
    ShardEntry entry;
    entry.kind = ShardEntryKind::decide;
    entry.decision = given;
    return entry;
  });
  const auto begun = Clock::now();
  const auto before = state.store->version();
  state.decision = std::move(given);
  const auto& decision = *state.decision;
  const bool reduces = options.reducer && decision.updates > 0;
  const bool waits = reduces || (decision.clip_norm > 0 && decision.updates > 0);
  for (const auto& refusal : decision.refused) refuse(state, refusal);
  state.norm = 0;
  try {
    const auto sets = take_sets(state, options, decision);
    if (waits) state.combined = state.store->combine(sets, *state.policy, threads(options));
    if (reduces) {
      reduce(self, options, sets);
    } else if (waits) {
      state.combined.updates = decision.updates;
      state.norm = state.combined.squared_norm(threads(options));
    } else if (decision.updates > 0) {
      state.learning_rate =
          state.store->apply(sets, *state.policy, decision.updates, threads(options));
    }
  } catch (...) {
    state.failure = lost_update(state, to_error(current_failure()));
  }
  state.busy += Clock::now() - begun;
  if (reduces) {
    if (state.failure) tell_failure(self, options, state.failure);
  } else if (waits) {
    tell_norm(self, options);
  } else {
    finish(self, options, sink, before);
  }
}

/// The other half: all shards have done the first one.
void apply_scaled(Self self, const ShardOptions& options, const SnapshotSink& sink, double factor) {
  auto& state = self->state;
  if (!state.decision) return;
  log(self, [&] {
    ShardEntry entry;
    entry.kind = ShardEntryKind::norm;
    entry.factor = factor;
    return entry;
  });
  const auto begun = Clock::now();
  const auto before = state.store->version();
  try {
    if (!state.failure) {
      state.combined.scale(factor, threads(options));
      state.learning_rate = state.store->apply(std::move(state.combined), threads(options));
    }
  } catch (...) {
    state.failure = lost_update(state, to_error(current_failure()));
  }
  state.combined = {};
  state.busy += Clock::now() - begun;
  finish(self, options, sink, before);
}

void attach(Self self, const ShardOptions& options) {
  self->send(options.coordinator, attach_atom_v, options.index, caf::actor_cast<Shard>(self),
             self->state.store->version(), self->state.decisions);
}

void restore(Self self, const ShardOptions& options, const ShardSnapshot& snapshot) {
  log(self, [&] {
    ShardEntry entry;
    entry.kind = ShardEntryKind::restore;
    entry.snapshot = snapshot;
    return entry;
  });
  self->state.store->restore(snapshot);
  if (self->state.primary) attach(self, options);
}

/// What a copy does is what the shard has done.
void follow(Self self, const ShardOptions& options, ShardEntry& entry) {
  auto& state = self->state;
  switch (entry.kind) {
    case ShardEntryKind::push:
      return push(state, options, entry.part);
    case ShardEntryKind::commit:
      note_commit(self, options, entry.commit, entry.sender);
      return;
    case ShardEntryKind::join:
      note_join(state, entry.replica, entry.sender);
      return;
    case ShardEntryKind::decide:
      return decide(self, options, {}, entry.decision);
    case ShardEntryKind::norm:
      return apply_scaled(self, options, {}, entry.factor);
    case ShardEntryKind::restore:
      return restore(self, options, entry.snapshot);
  }
}

/// Whether what it has is to be kept, and the shard before it may not have passed it on.
bool has_snapshot_due(const ShardState& state, const ShardOptions& options) {
  const auto version = state.store->version();
  return options.snapshot_every > 0 && version > 0 && version % options.snapshot_every == 0;
}

/// A copy takes the place of the shard: it says what that may not have said any more.
void promote(Self self, const ShardOptions& options, const SnapshotSink& sink) {
  auto& state = self->state;
  if (state.primary) return;
  if (!state.whole)
    return self->quit(fault(Code::data_loss, state.title,
                            ": it died, and its copy had not yet been told what it had"));
  state.primary = state.took_over = true;
  // Of an all-reduce the one who keeps its members says who they are.
  if (!options.reducer) attach(self, options);
  for (auto& [replica, m] : state.members)
    for (auto& [step, set] : m.sets) {
      for (const auto& part : set.parts) look_at(state, options, part, set);
      if (set.commit) report_set(self, options, set);
    }
  if (state.decision) tell_norm(self, options);
  if (sink && has_snapshot_due(state, options))
    self->send(sink, snapshot_atom_v, snapshot_of(state, options));
}

PulledRows pull_rows(ShardState& state, const RowPull& request) {
  const auto begun = Clock::now();
  PulledRows pulled;
  pulled.parameters.version = state.store->version();
  if (request.with_values)
    pulled.parameters = state.store->parameters(true, false, request.averages);
  const auto& store = *state.store;
  for (const auto& wanted : request.wanted) {
    if (request.only_here && !store.has(wanted.variable)) {
      pulled.rows.emplace_back();
      continue;
    }
    pulled.rows.push_back(
        store.rows(request.only_here ? store.those_here(wanted) : wanted, request.averages));
    state.pulled_rows += static_cast<std::uint64_t>(pulled.rows.back().shape()[0]);
  }
  ++state.pulls;
  state.busy += Clock::now() - begun;
  return pulled;
}

ShardStatus status(const ShardState& state) {
  const auto takes_part = [](const auto& m) { return !m.second.left && !m.second.joins; };
  ShardStatus status;
  status.name = state.title;
  status.version = state.store->version();
  status.bytes = state.store->bytes();
  status.pulls = state.pulls;
  status.updates = state.updates;
  status.replicas = std::count_if(state.members.begin(), state.members.end(), takes_part);
  status.busy = state.busy;
  status.staleness = state.staleness;
  status.pushes = state.pushes;
  status.pulled_rows = state.pulled_rows;
  status.pushed_rows = state.pushed_rows;
  status.backups = state.effects.in_step();
  return status;
}

}  // namespace

Shard::behavior_type parameter_shard(Self self, ShardOptions options, SnapshotSink sink) {
  self->state.title = text("shard ", options.index);
  self->state.store =
      std::make_unique<ParameterStore>(self->state.title, options.variables, options.optimizer,
                                       options.schedule, options.average_decay);
  options.variables.clear();  // the store has them: nobody else may hold them
  self->state.policy = make_policy(options.policy);
  self->state.policy_text = options.policy;
  self->state.primary = self->state.whole = !options.mirror;
  if (!options.mirror) attach(self, options);
  return {
      [self, options](mirror_atom, const ShardCopy& copy) {
        return answer([&] {
          become(self->state, copy);
          return caf::ok_atom_v;
        });
      },
      [self, options](log_atom, ShardEntry& entry) {
        try {
          if (!self->state.primary) follow(self, options, entry);
        } catch (...) {
          // It failed in the same way where it was told first, and that has said so.
        }
        return caf::ok_atom_v;
      },
      [self](pull_atom, Version known) {
        ++self->state.pulls;
        const auto& store = *self->state.store;
        return known == store.version() ? Parameters{known, {}, {}, {}} : store.parameters(true);
      },
      [self](pull_atom, const RowPull& request) {
        return answer([&] { return pull_rows(self->state, request); });
      },
      [self, options](push_atom, GradientPart& part) {
        if (is_repeated(self->state, part)) return;
        log(self, [&] {
          ShardEntry entry;
          entry.kind = ShardEntryKind::push;
          entry.part = part;
          return entry;
        });
        push(self->state, options, part);
      },
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
      [self](cancel_atom, std::uint64_t number) {
        cancel(self, number);
        return caf::ok_atom_v;
      },
      [self, options](snapshot_atom) { return snapshot_of(self->state, options); },
      [self, options](restore_atom, const ShardSnapshot& snapshot) {
        return answer([&] {
          restore(self, options, snapshot);
          return caf::ok_atom_v;
        });
      },
      [self, options](mirror_atom, const std::vector<ShardMirror>& mirrors) {
        mirror(self, options, mirrors);
      },
      [self, options](mirror_atom) {
        return answer([&] {
          if (self->state.decision)
            fail(Code::failed_precondition, self->state.title, " is in the middle of an update");
          return copy_of(self->state, options);
        });
      },
      [self, options, sink](promote_atom) { promote(self, options, sink); },
      [self](status_atom) { return status(self->state); },
  };
}

}  // namespace troupe
