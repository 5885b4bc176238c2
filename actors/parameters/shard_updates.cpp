#include "troupe/actors/parameters/shard_updates.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/parameters/shard_copies.h"
#include "troupe/actors/parameters/shard_replicas.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ShardSelf;
using Clock = std::chrono::steady_clock;

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
      state.say([self, sink, snapshot = snapshot_of(state, options)] {
        self->send(sink, snapshot_atom_v, snapshot);
      });
  }
  if (decision.keep > 0 && state.primary && sink) {
    auto snapshot = snapshot_of(state, options);
    snapshot.version = decision.keep;
    state.say([self, sink, snapshot = std::move(snapshot)] {
      self->send(sink, snapshot_atom_v, snapshot);
    });
  }
  if (failure)
    for (const auto& chosen : decision.members) fail_commit(state, chosen.replica, failure);
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
  self->state.say([self, to = options.coordinator, index = options.index, number, why] {
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
                  decision.clip_norm > 0 ? state.combined.squared_norm(options.intra_op()) : 0;
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

}  // namespace

ShardSnapshot snapshot_of(const ShardState& state, const ShardOptions& options) {
  auto snapshot = state.store->snapshot(options.index);
  snapshot.group = options.group;
  snapshot.own_version = snapshot.version;
  return snapshot;
}

void attach(Self self, const ShardOptions& options) {
  self->send(options.coordinator, attach_atom_v, options.index, caf::actor_cast<Shard>(self),
             self->state.store->version(), self->state.decisions);
}

void restore(Self self, const ShardOptions& options, const ShardSnapshot& snapshot) {
  tell_copies(self, ShardEntryKind::restore, [&](ShardEntry& entry) { entry.snapshot = snapshot; });
  self->state.store->restore(snapshot);
  if (self->state.primary) attach(self, options);
}

void decide(Self self, const ShardOptions& options, const SnapshotSink& sink,
            RoundDecision& given) {
  auto& state = self->state;
  const bool again = given.number > 0 && given.number <= state.decisions;
  if (again) return;
  if (state.decision) {  // this one is told again
    if (!options.reducer) tell_norm(self, options);
    return;
  }
  tell_copies(self, ShardEntryKind::decide, [&](ShardEntry& entry) { entry.decision = given; });
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
    if (waits) state.combined = state.store->combine(sets, *state.policy, options.intra_op());
    if (reduces) {
      reduce(self, options, sets);
    } else if (waits) {
      state.combined.updates = decision.updates;
      state.norm = state.combined.squared_norm(options.intra_op());
    } else if (decision.updates > 0) {
      state.learning_rate =
          state.store->apply(sets, *state.policy, decision.updates, options.intra_op());
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

void tell_norm(Self self, const ShardOptions& options) {
  auto& state = self->state;
  state.say([self, to = options.coordinator, index = options.index, number = state.decision->number,
             norm = state.norm] { self->send(to, norm_atom_v, index, number, norm); });
}

void apply_scaled(Self self, const ShardOptions& options, const SnapshotSink& sink, double factor) {
  auto& state = self->state;
  if (!state.decision) return;
  tell_copies(self, ShardEntryKind::norm, [&](ShardEntry& entry) { entry.factor = factor; });
  const auto begun = Clock::now();
  const auto before = state.store->version();
  try {
    if (!state.failure) {
      state.combined.scale(factor, options.intra_op());
      state.learning_rate = state.store->apply(std::move(state.combined), options.intra_op());
    }
  } catch (...) {
    state.failure = lost_update(state, to_error(current_failure()));
  }
  state.combined = {};
  state.busy += Clock::now() - begun;
  finish(self, options, sink, before);
}

void cancel(Self self, std::uint64_t number) {
  auto& state = self->state;
  if (!state.decision || state.decision->number != number) return;
  state.decision.reset();
  state.combined = {};
}

}  // namespace troupe
