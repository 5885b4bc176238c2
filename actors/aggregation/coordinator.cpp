#include "troupe/actors/aggregation/coordinator.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <memory>
#include <utility>

#include "troupe/actors/aggregation/coordinator_checkpoints.h"
#include "troupe/actors/aggregation/coordinator_decisions.h"
#include "troupe/actors/aggregation/coordinator_halts.h"
#include "troupe/actors/aggregation/coordinator_replicas.h"
#include "troupe/messages/answer.h"
#include "troupe/messages/tick.h"

namespace troupe {
namespace {

using Self = CoordinatorSelf;
using Group = CoordinatorState::Group;
using OptionsPtr = CoordinatorOptionsPtr;

void attach(Self self, const CoordinatorOptions& options, std::uint32_t shard, const Shard& handle,
            Version version, std::uint64_t carried_out) {
  auto& s = self->state;
  auto& group = s.groups.at(options.group_of(shard));
  const auto before = std::exchange(s.shards[shard], handle);
  s.shard_count = std::max(s.shard_count, s.shards.size());
  if (group.decisions.number() == 0)
    group.rounds->set_version(std::max(version, group.rounds->version()));
  for (const auto& [decision, factor] : group.decisions.entries()) {
    if (decision.number <= carried_out) continue;
    self->send(handle, decide_atom_v, decision);
    if (factor) self->send(handle, norm_atom_v, *factor);
  }
  if (before && before != handle) {
    // The one before may not have sent all that was to be kept.
    s.backlog.forget();
    go_on_from_backlog(self, options);
  }
  s.lost_shards.erase(shard);
  go_on_if_whole(self, options);
}

/// One of an all-reduce, without a replica, that will not be among those who go on.
void detach(CoordinatorState& s, std::uint32_t shard) {
  s.lost_shards.erase(shard);
  if (s.shards.erase(shard) == 0) return;
  --s.shard_count;
  s.groups.front().decisions.forget(shard);
}

/// Of the variables that are called so, or of those without a policy of their own.
caf::result<caf::ok_atom> change_policy(Self self, const OptionsPtr& options,
                                        const std::string& variables, const std::string& policy) {
  auto promise = self->make_response_promise<caf::ok_atom>();
  when_free(self, options, [=](const CoordinatorOptions& options) mutable -> void {
    auto& groups = self->state.groups;
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const Group& one) { return one.variables == variables; });
    try {
      if (group == groups.end())
        fail(Code::not_found, "coordinator: no group of variables is '", variables, "'");
      group->rounds->change_policy(policy);
    } catch (...) {
      promise.deliver(current_fault());
      return;
    }
    group->changes.push_back(promise);
    decide(self, options);
  });
  return promise;
}

}  // namespace

RememberingCoordinator::behavior_type coordinator(Self self, CoordinatorOptions given) {
  const auto shared = std::make_shared<const CoordinatorOptions>(std::move(given));
  const auto& options = *shared;
  const auto& a = options.aggregation;
  RoundsOptions rules;
  rules.policy = a.policy;
  rules.replicas = options.replicas;
  rules.max_steps = options.max_steps;
  rules.deterministic = options.deterministic;
  rules.accumulate = a.accumulate;
  rules.clip_norm = a.clip_norm;
  rules.table = options.table;
  // The sets of an update that is taken back are computed again.
  rules.may_leave_out = a.leave_out_late || options.all_reduce;
  rules.is_group = !options.group_of_shard.empty();
  self->state.groups.push_back({"", std::make_unique<Rounds>(rules), {}, {}});
  rules.max_steps = 0;  // those who lead count
  for (const auto& group : a.groups) {
    rules.policy = group.policy;
    self->state.groups.push_back({group.variables, std::make_unique<Rounds>(rules), {}, {}});
  }
  self->state.shard_count = options.shards;
  self->state.replaces_lost = options.replaces_lost;
  if (options.book) self->monitor(options.book);
  if (!a.record.empty())
    self->state.order.record(a.record + "/decisions", options.run);
  else if (!a.replay.empty())
    self->state.order.replay(a.replay + "/decisions", options.run);
  self->set_down_handler([self, shared](const caf::down_msg& down) {
    if (down.source == shared->book.address()) return stop_waiting_for_disk(self, *shared);
    when_free(self, shared,
              [self, down](const CoordinatorOptions& options) { take_down(self, options, down); });
  });
  on_tick(self, [self, shared] {
    if (self->state.backlog.full()) return;  // whoever is late now waits for the disk
    when_free(self, shared,
              [self](const CoordinatorOptions& options) { look_at_clock(self, options); });
  });
  return {
      [self, shared](attach_atom, std::uint32_t shard, const Shard& handle, Version version,
                     std::uint64_t carried_out) {
        attach(self, *shared, shard, handle, version, carried_out);
      },
      [self](expect_atom, std::uint32_t replica, const Replica& handle) {
        watch_for_death(self, replica, handle);
      },
      [self](assign_atom, const Feeder& batches) { self->state.batches = batches; },
      [self, shared](join_atom, std::uint32_t shard, std::uint32_t replica, const Replica& handle) {
        when_free(self, shared, shard, [=](const CoordinatorOptions& options) {
          join(self, options, shard, replica, handle);
        });
      },
      [self, shared](leave_atom, std::uint32_t, std::uint32_t replica, const caf::actor_addr& who) {
        when_free(self, shared,
                  [=](const CoordinatorOptions& options) { leave(self, options, replica, who); });
      },
      [self, shared](ready_atom, const SetReport& report) {
        when_free(self, shared, report.shard, [self, report](const CoordinatorOptions& options) {
          take_report(self, options, report);
        });
      },
      [self, shared](norm_atom, std::uint32_t shard, std::uint64_t number, double sum) {
        take_norm(self, *shared, shard, number, sum);
      },
      [self](norm_atom, std::uint32_t, std::uint64_t number, const caf::error& why) {
        auto& s = self->state;
        if (s.awaits_norms && number == s.groups.front().decisions.number()) self->quit(why);
      },
      [self, shared](cancel_atom, std::uint32_t shard) { return halt(self, *shared, shard); },
      [self](detach_atom, std::uint32_t shard) { detach(self->state, shard); },
      [self, shared](start_atom) {
        self->state.may_go_on = true;
        go_on_if_whole(self, *shared);
      },
      [self, shared](stop_atom) {
        self->state.replaces_lost = false;
        self->state.backlog.open();
        when_free(self, shared, [self](const CoordinatorOptions& options) { stop(self, options); });
        go_on_from_backlog(self, *shared);
      },
      [self, shared](policy_atom, const std::string& policy) {
        return change_policy(self, shared, "", policy);
      },
      [self, shared](policy_atom, const std::string& policy, const std::string& variables) {
        return change_policy(self, shared, variables, policy);
      },
      [self](status_atom) { return status_of(self->state); },
      [self](assign_atom, const DataKeeper& keeper) { self->state.keeper = keeper; },
      [self, shared](cut_atom) -> caf::result<DataState> {
        stop_waiting_for_disk(self, *shared);  // this is the end
        keep_memories(self, *shared);
        auto promise = self->make_response_promise<DataState>();
        cut(self, [promise](DataState state) mutable { promise.deliver(std::move(state)); });
        return promise;
      },
      [self](restore_atom, const AggregationStatus& status) { restore(self->state, status); },
      [self](restore_atom, const std::vector<ReplicaMemory>& memories) {
        self->state.memories.restore(memories);
      },
      [self](restore_atom, std::uint32_t replica) { return self->state.memories.of(replica); },
      [self](save_atom, std::uint32_t replica, const MemoryOfSet& set) {
        self->state.memories.expect(replica, set);
      },
  };
}

}  // namespace troupe
