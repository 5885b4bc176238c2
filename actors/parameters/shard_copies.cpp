#include "troupe/actors/parameters/shard_copies.h"

#include <caf/typed_event_based_actor.hpp>
#include <utility>
#include <vector>

#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/parameters/shard_replicas.h"
#include "troupe/actors/parameters/shard_updates.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ShardSelf;

void send_to_mirror(Self self, const ShardMirror& mirror, const ShardEntry& entry,
                    std::uint64_t number) {
  self->request(mirror, caf::infinite, log_atom_v, entry)
      .then(
          [self, mirror, number](caf::ok_atom) { self->state.effects.acknowledge(mirror, number); },
          // It has ended: whoever keeps the copies says who is left.
          [](const caf::error&) {});
}

/// Whether what it has is to be kept, and the shard before it may not have passed it on.
bool has_snapshot_due(const ShardState& state, const ShardOptions& options) {
  const auto version = state.store->version();
  return options.snapshot_every > 0 && version > 0 && version % options.snapshot_every == 0;
}

}  // namespace

void tell_copies(Self self, ShardEntryKind kind, const std::function<void(ShardEntry&)>& fill) {
  auto& state = self->state;
  if (!state.primary) return;
  const auto mirrors = state.effects.mirrors();
  if (mirrors.empty()) return;
  const auto number = state.effects.log();
  ShardEntry entry;
  entry.kind = kind;
  fill(entry);
  for (const auto& mirror : mirrors) send_to_mirror(self, mirror, entry, number);
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

void promote(Self self, const ShardOptions& options, const SnapshotSink& sink) {
  auto& state = self->state;
  if (state.primary) return;
  if (!state.whole)
    return self->quit(fault(Code::data_loss, state.title,
                            ": it died, and its copy had not yet been told what it had"));
  state.primary = state.took_over = true;
  // Of an all-reduce the one who keeps its members says who they are.
  if (!options.reducer) attach(self, options);
  report_sets(self, options);
  if (state.decision) tell_norm(self, options);
  if (sink && has_snapshot_due(state, options))
    self->send(sink, snapshot_atom_v, snapshot_of(state, options));
}

}  // namespace troupe
