#include "troupe/actors/parameters/parameter_shard.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>

#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = Shard::stateful_pointer<ShardState>;

ShardState::Member& member(ShardState& state, std::uint32_t replica, const caf::actor_addr& from) {
  const auto found = state.members.find(replica);
  if (found == state.members.end())
    fail(Code::failed_precondition, state.title, ": replica ", replica,
         " has not joined, or has left");
  if (found->second.address != from)
    fail(Code::failed_precondition, state.title, ": replica ", replica,
         " is another actor than the one that joined");
  return found->second;
}

/// Those that committed, as sets in the order in which they are to be added.
std::vector<GradientSet> take_sets(ShardState& state, const std::vector<std::uint32_t>& replicas,
                                   bool deterministic) {
  auto order = replicas;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    const auto& x = state.members.at(a);
    const auto& y = state.members.at(b);
    return deterministic ? std::pair(x.commit->order, a) < std::pair(y.commit->order, b)
                         : x.arrival < y.arrival;
  });
  std::vector<GradientSet> sets;
  for (const auto replica : order) {
    auto& m = state.members.at(replica);
    sets.push_back({*m.commit, std::move(m.pending)});
    m.pending.clear();
  }
  return sets;
}

void update(Self self, const ShardOptions& options, const SnapshotSink& sink,
            const std::vector<std::uint32_t>& replicas) {
  auto& state = self->state;
  const auto begun = std::chrono::steady_clock::now();
  const auto before = state.store->version();
  const auto sets = take_sets(state, replicas, options.deterministic);
  caf::error failure;
  try {
    state.learning_rate = state.store->apply(sets, options.threads ? *options.threads : serial());
  } catch (...) {
    failure = current_fault();
  }
  state.busy += std::chrono::steady_clock::now() - begun;
  ++state.updates;
  const auto now = state.store->version();
  if (sink && !failure && options.snapshot_every > 0 && now != before &&
      now % options.snapshot_every == 0)
    self->send(sink, snapshot_atom_v, state.store->snapshot(options.index));
  for (const auto replica : replicas) {
    auto& m = state.members.at(replica);
    m.last_step = m.commit->step;
    m.has_step = true;
    auto promise = std::move(m.promise);
    const auto staleness = before - std::min(before, m.commit->version);
    m.commit.reset();
    if (failure)
      promise.deliver(failure);
    else
      promise.deliver(ApplyResult{staleness, state.learning_rate, state.store->parameters(false)});
  }
}

/// Updates if every member has committed.
void update_if_complete(Self self, const ShardOptions& options, const SnapshotSink& sink) {
  auto& members = self->state.members;
  if (members.empty()) return;
  std::vector<std::uint32_t> replicas;
  for (const auto& [replica, m] : members) {
    if (!m.commit) return;
    replicas.push_back(replica);
  }
  update(self, options, sink, replicas);
}

void leave(Self self, const ShardOptions& options, const SnapshotSink& sink,
           std::uint32_t replica) {
  const auto found = self->state.members.find(replica);
  if (found == self->state.members.end()) return;
  if (found->second.commit)
    found->second.promise.deliver(fault(Code::cancelled, self->state.title, ": replica ", replica,
                                        " left while its update was waiting"));
  self->state.members.erase(found);
  if (options.synchronous) update_if_complete(self, options, sink);
}

caf::result<ApplyResult> commit(Self self, const ShardOptions& options, const SnapshotSink& sink,
                                const GradientCommit& request) {
  auto& state = self->state;
  try {
    auto& m = member(state, request.replica, self->current_sender()->address());
    if (m.has_step && request.step <= m.last_step) {  // repeated: it has been applied
      m.pending.clear();
      return ApplyResult{0, state.learning_rate, state.store->parameters(false)};
    }
    if (m.commit)
      return fault(Code::failed_precondition, state.title, ": replica ", request.replica,
                   " committed step ", request.step, " while step ", m.commit->step,
                   " is waiting for the others");
    if (options.synchronous && request.version < state.store->version()) {
      m.pending.clear();
      return fault(Code::aborted, state.title, ": the gradient of replica ", request.replica,
                   " is stale by ", state.store->version() - request.version,
                   ": it was computed from version ", request.version,
                   " and the parameters are at ", state.store->version());
    }
    for (const auto& part : m.pending) state.store->check(part);
    m.commit = request;
    m.arrival = state.arrivals++;
    auto promise = self->make_response_promise<ApplyResult>();
    m.promise = promise;
    if (options.synchronous)
      update_if_complete(self, options, sink);
    else
      update(self, options, sink, {request.replica});
    return promise;
  } catch (...) {
    return current_fault();
  }
}

}  // namespace

Shard::behavior_type parameter_shard(Self self, ShardOptions options, SnapshotSink sink) {
  self->state.title = text("shard ", options.index);
  self->state.store =
      std::make_unique<ParameterStore>(self->state.title, options.variables, options.optimizer,
                                       options.schedule, options.average_decay);
  self->set_down_handler([self, options, sink](const caf::down_msg& down) {
    for (const auto& [replica, m] : self->state.members)
      if (m.address == down.source) {
        leave(self, options, sink, replica);
        return;
      }
  });
  return {
      [self](pull_atom, Version known) {
        ++self->state.pulls;
        const auto& store = *self->state.store;
        return known == store.version() ? Parameters{known, {}, {}} : store.parameters(true);
      },
      [self](push_atom, GradientPart& part) {
        const auto found = self->state.members.find(part.replica);
        if (found == self->state.members.end()) return;  // it has left: its commit will be told
        auto& m = found->second;
        if (!m.pending.empty() && m.pending.front().step != part.step) m.pending.clear();
        m.pending.push_back(std::move(part));
      },
      [self, options, sink](commit_atom, const GradientCommit& request) {
        return commit(self, options, sink, request);
      },
      [self](join_atom, std::uint32_t replica) {
        auto& m = self->state.members[replica];
        const auto sender = caf::actor_cast<caf::actor>(self->current_sender());
        if (m.address != sender->address()) {
          m = {};
          m.address = sender->address();
          self->monitor(sender);
        }
        return self->state.store->parameters(true);
      },
      [self, options, sink](leave_atom, std::uint32_t replica) {
        leave(self, options, sink, replica);
        return caf::ok_atom_v;
      },
      [self, options](snapshot_atom) { return self->state.store->snapshot(options.index); },
      [self](restore_atom, const ShardSnapshot& snapshot) {
        return answer([&] {
          self->state.store->restore(snapshot);
          return caf::ok_atom_v;
        });
      },
      [self](status_atom) {
        const auto& s = self->state;
        return ShardStatus{s.title, s.store->version(), s.store->bytes(),
                           s.pulls, s.updates,          static_cast<std::int64_t>(s.members.size()),
                           s.busy};
      },
  };
}

}  // namespace troupe
