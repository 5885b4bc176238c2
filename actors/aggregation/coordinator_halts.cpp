#include "troupe/actors/aggregation/coordinator_halts.h"

#include <caf/typed_event_based_actor.hpp>
#include <memory>
#include <utility>

#include "troupe/actors/aggregation/coordinator_checkpoints.h"
#include "troupe/actors/aggregation/coordinator_decisions.h"
#include "troupe/messages/fault.h"

namespace troupe {
namespace {

using Self = CoordinatorSelf;

bool must_wait(const CoordinatorState& s, const CoordinatorOptions& options) {
  return s.halted || s.backlog.full() || (options.all_reduce && s.awaits_norms);
}

/// As if the last decision had never been made, but that the sets of its update are gone.
void take_back(CoordinatorState& s) {
  auto tentative = std::move(*s.tentative);
  s.tentative.reset();
  s.awaits_norms = false;
  s.norms.clear();
  auto& group = s.groups.front();
  group.decisions.take_back();
  *group.rounds = std::move(tentative.before);
  for (const auto& set : tentative.decision.members)
    group.rounds->give_up_sets(set.replica, set.step);
}

}  // namespace

void when_free(Self self, const CoordinatorOptionsPtr& options, CoordinatorWork work) {
  auto& later = self->state.later;
  if (later.empty() && !must_wait(self->state, *options)) return work(*options);
  later.emplace_back([options, work = std::move(work)] { work(*options); });
  tell_of_disk(self, *options);
}

void when_free(Self self, const CoordinatorOptionsPtr& options, std::uint32_t shard,
               CoordinatorWork work) {
  const auto from = caf::actor_cast<caf::actor_addr>(self->current_sender());
  when_free(self, options,
            [self, shard, from, work = std::move(work)](const CoordinatorOptions& options) {
              const auto& shards = self->state.shards;
              const auto here = shards.find(shard);
              if (!options.all_reduce || (here != shards.end() && here->second.address() == from))
                work(options);
            });
}

void catch_up(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  if (std::exchange(s.catches_up, true)) return;  // the one who does will go on
  while (!s.later.empty() && !must_wait(s, options)) {
    const auto work = std::move(s.later.front());
    s.later.pop_front();
    work();
  }
  s.catches_up = false;
}

caf::result<caf::ok_atom> halt(Self self, const CoordinatorOptions& options, std::uint32_t shard) {
  auto& s = self->state;
  if (!options.all_reduce)
    return fault(Code::failed_precondition, "coordinator: only shards of an all-reduce are lost");
  s.lost_shards.insert(shard);
  s.halted = true;
  s.may_go_on = false;
  const auto number = s.tentative ? s.tentative->decision.number : 0;
  if (s.tentative) take_back(s);
  s.leading().give_up_sets(shard);  // it was that of the replica of this number
  auto given_up = s.leading().take_settled();
  for (const auto& set : given_up) s.memories.settle(set);
  tell_settled(self, std::move(given_up));
  auto promise = self->make_response_promise<caf::ok_atom>();
  const auto missing = std::make_shared<std::size_t>(1);
  const std::function<void()> count = [promise, missing]() mutable {
    if (--*missing == 0) promise.deliver(caf::ok_atom_v);
  };
  for (const auto& [index, left] : s.shards) {
    ++*missing;
    self->request(left, caf::infinite, cancel_atom_v, number)
        .then([count](caf::ok_atom) { count(); },
              [count](const caf::error&) { count(); });  // it is lost
  }
  count();
  return promise;
}

void go_on_if_whole(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  if (!s.halted || !s.may_go_on || !s.lost_shards.empty()) return;
  s.halted = false;
  catch_up(self, options);
  decide(self, options);
}

}  // namespace troupe
