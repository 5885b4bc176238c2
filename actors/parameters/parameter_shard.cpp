#include "troupe/actors/parameters/parameter_shard.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <utility>

#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/parameters/shard_copies.h"
#include "troupe/actors/parameters/shard_replicas.h"
#include "troupe/actors/parameters/shard_updates.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;

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

Shard::behavior_type parameter_shard(ShardSelf self, ShardOptions options, SnapshotSink sink) {
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
        tell_copies(self, ShardEntryKind::push, [&](ShardEntry& entry) { entry.part = part; });
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
