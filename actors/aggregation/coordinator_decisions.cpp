#include "troupe/actors/aggregation/coordinator_decisions.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <cmath>
#include <string>
#include <utility>

#include "troupe/actors/aggregation/coordinator_checkpoints.h"
#include "troupe/actors/aggregation/coordinator_halts.h"
#include "troupe/actors/aggregation/coordinator_replicas.h"
#include "troupe/messages/answer.h"
#include "troupe/messages/tick.h"

namespace troupe {
namespace {

using Self = CoordinatorSelf;
using Group = CoordinatorState::Group;

std::string numbers(const std::vector<std::uint32_t>& replicas) {
  std::string words;
  for (const auto replica : replicas) words += text(words.empty() ? "" : ", ", replica);
  return text(replicas.size() == 1 ? "replica " : "replicas ", words);
}

// ---- deadlines -------------------------------------------------------------------------------

/// Has the clock running for everybody whom others wait for now.
void watch(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  const auto now = self->clock().now();
  if (!s.leading().waits_for_start()) {
    s.start_deadline.reset();
  } else if (!s.start_deadline) {
    s.start_deadline = now + options.start_patience;
    tick_at(self, *s.start_deadline);
  }
  const auto patience = options.aggregation.round_deadline;
  if (patience.count() == 0) return;
  std::map<std::uint32_t, CoordinatorState::Waited> waited;
  for (const auto& [replica, clock] : s.leading().waited_for()) {
    const auto known = s.waited_for.find(replica);
    if (known != s.waited_for.end() && known->second.clock == clock) {
      waited.insert(*known);
      continue;
    }
    waited[replica] = {clock, now + patience};
    tick_at(self, now + patience);
  }
  s.waited_for = std::move(waited);
}

// ---- decisions -------------------------------------------------------------------------------

void tell_new_policy(Self self, const CoordinatorOptions& options, std::size_t at,
                     const std::string& policy) {
  auto& s = self->state;
  auto& group = s.groups[at];
  tell(self, options,
       text("the policy", at == 0 ? "" : " of " + group.variables, " is '", policy,
            "' from here on"));
  const auto& p = group.rounds->policy();
  if (s.batches && at == 0)
    self->send(s.batches, assign_atom_v, p.whole_rounds() && !options.aggregation.leave_out_late);
  for (auto& promise : group.changes) promise.deliver(caf::ok_atom_v);
  group.changes.clear();
}

/// Tells the shards of a group, and keeps in mind what they are told.
void tell_shards(Self self, const CoordinatorOptions& options, std::size_t at,
                 RoundDecision& decision) {
  auto& s = self->state;
  s.groups[at].decisions.add(decision);
  for (const auto& [index, shard] : s.shards)
    if (options.group_of(index) == at) self->send(shard, decide_atom_v, decision);
}

/// What comes before shards are told to carry the decision out.
void settle_memories(Self self, const CoordinatorOptions& options, std::size_t at,
                     CoordinatorState::Effect& effect) {
  auto& s = self->state;
  for (const auto& set : effect.settled) s.memories.settle(set);
  const auto every = options.snapshot_every;
  const auto now = s.groups[at].rounds->version();
  effect.is_due = at == 0 && every > 0 && now / every != effect.before / every;
  if (effect.is_due && s.groups.size() == 1) keep_memories(self, options);
}

/// The decision will not be taken back.
void take_effect(Self self, const CoordinatorOptions& options, std::size_t at,
                 CoordinatorState::Effect effect) {
  auto& s = self->state;
  auto& rounds = *s.groups[at].rounds;
  tell_settled(self, std::move(effect.settled));
  if (!effect.policy.empty()) tell_new_policy(self, options, at, effect.policy);
  if (at > 0) return;
  if (effect.is_due && s.groups.size() == 1) keep_data(self, options);
  s.keep_due = s.keep_due || (effect.is_due && s.groups.size() > 1);
  for (const auto replica : rounds.take_doomed())
    self->send(s.replicas.at(replica), give_up_atom_v, rounds.version());
}

/// The next decision for a group; false when there is none.
bool decide_next(Self self, const CoordinatorOptions& options, std::size_t at) {
  auto& s = self->state;
  auto& rounds = *s.groups[at].rounds;
  std::optional<Rounds> before;
  if (options.all_reduce) before = rounds;
  CoordinatorState::Effect effect;
  effect.before = rounds.version();
  auto decision = rounds.next();
  if (!decision) return false;
  if (at > 0) decision->next = s.leading().instructions();
  s.awaits_norms = decision->updates > 0 && (options.all_reduce || decision->clip_norm > 0);
  effect.settled = s.settling.add(rounds.take_settled(), s.groups.size());
  effect.policy = decision->policy;
  const bool is_tentative = before && s.awaits_norms;
  if (!is_tentative) settle_memories(self, options, at, effect);
  tell_shards(self, options, at, *decision);
  if (is_tentative)
    s.tentative =
        CoordinatorState::Tentative{std::move(*before), std::move(effect), std::move(*decision)};
  else
    take_effect(self, options, at, std::move(effect));
  return true;
}

/// Lets replicas go on whom all groups let go on; false when there are none.
bool let_go(CoordinatorState& s) {
  bool any = false;
  for (const auto& [replica, handle] : s.replicas) {
    const auto may = [who = replica](const Group& group) { return group.rounds->may_let_go(who); };
    if (s.groups.size() == 1 || !std::all_of(s.groups.begin(), s.groups.end(), may)) continue;
    const bool finished = s.leading().over();
    for (auto& group : s.groups) group.rounds->let_go(replica, finished);
    any = true;
  }
  return any;
}

/// Has all shards of a run with groups send what they have, when every set is part of what all
/// of them have or of what none has.
void keep_when_due(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  if (!s.keep_due || !s.settling.empty()) return;
  s.keep_due = false;
  keep_memories(self, options);
  for (std::size_t at = 0; at < s.groups.size(); ++at) {
    RoundDecision decision;
    decision.next = s.leading().instructions();
    decision.keep = s.leading().version();
    tell_shards(self, options, at, decision);
  }
  keep_data(self, options);
}

/// Decides all that can be decided.
void go_on(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  const auto may_decide = [&s] { return !s.awaits_norms && !s.halted && !s.backlog.full(); };
  do {
    for (auto at = s.groups.size(); at-- > 0;)
      while (may_decide() && decide_next(self, options, at)) {
      }
  } while (may_decide() && let_go(s));
  keep_when_due(self, options);
  watch(self, options);
  admit_late(self, options);
}

}  // namespace

void tell(Self self, const CoordinatorOptions& options, std::string message) {
  if (options.listener)
    self->send(options.listener, report_atom_v,
               TrainingEvent{self->state.leading().version(), std::move(message)});
}

void tell_settled(Self self, std::vector<SettledSet> sets) {
  auto& s = self->state;
  if (s.batches && !sets.empty())
    self->send(s.batches, settle_atom_v, Settlement{s.leading().version(), std::move(sets)});
}

void look_at_clock(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  const auto now = self->clock().now();
  if (s.start_deadline && now >= *s.start_deadline) {
    tell(self, options,
         text(numbers(s.leading().not_joined()), " did not join within ",
              options.start_patience.count(), " ms: the run begins without"));
    for (auto& group : s.groups) group.rounds->start_anyway();
  }
  for (auto& [replica, waited] : s.waited_for) {
    if (waited.named || now < waited.deadline) continue;
    waited.named = true;
    const auto others = s.leading().waiting();
    const auto leave_out = options.aggregation.leave_out_late;
    tell(self, options,
         text("replica ", replica, " has kept ", numbers(others), " waiting for ",
              options.aggregation.round_deadline.count(), " ms",
              leave_out ? ": they go on without it" : ""));
    s.leading().miss_deadline(replica, leave_out);
  }
  decide(self, options);
}

void decide(Self self, const CoordinatorOptions& options) {
  try {
    go_on(self, options);
  } catch (...) {
    self->quit(current_failure());
  }
}

void happen(Self self, const CoordinatorOptions& options, const RecordedEvent& event,
            const std::function<void()>& work) {
  try {
    self->state.order.happen(event, [self, options, work] {
      work();
      decide(self, options);
    });
  } catch (...) {
    self->quit(current_failure());
  }
}

void note_carried_out(CoordinatorState& s, const CoordinatorOptions& options, std::uint32_t shard,
                      std::uint64_t decisions) {
  const auto group = options.group_of(shard);
  auto shards = s.shard_count;
  for (std::uint32_t i = 0; i < options.group_of_shard.size(); ++i)
    shards -= options.group_of(i) == group ? 0 : 1;
  s.groups.at(group).decisions.carried_out(shard, decisions, shards);
}

void take_norm(Self self, const CoordinatorOptions& options, std::uint32_t shard,
               std::uint64_t number, double sum) {
  auto& s = self->state;
  auto& group = s.groups.front();  // with others nothing is clipped
  if (!s.awaits_norms || number != group.decisions.number()) return;  // told again, or taken back
  s.norms[shard] = sum;
  // All have carried out those before.
  if (options.all_reduce) note_carried_out(s, options, shard, number - 1);
  if (s.norms.size() < s.shard_count) return;
  double total = 0;
  for (const auto& [index, norm] : s.norms)  // in a fixed order
    total = options.all_reduce ? norm : total + norm;
  s.norms.clear();
  const auto norm = std::sqrt(total);
  const auto most = options.aggregation.clip_norm;
  const double factor = norm > most ? most / norm : 1;
  if (factor < 1) group.rounds->count_clipped();
  group.decisions.set_factor(factor);
  if (s.tentative) settle_memories(self, options, 0, s.tentative->effect);
  for (const auto& [index, to] : s.shards) self->send(to, norm_atom_v, factor);
  auto effect = s.tentative ? std::optional(std::move(s.tentative->effect)) : std::nullopt;
  s.tentative.reset();
  happen(self, options, {RecordedEvent::Kind::norm, 0, group.rounds->version()},
         [self, options, effect] {
           self->state.awaits_norms = false;
           if (effect) take_effect(self, options, 0, *effect);
         });
  catch_up(self, options);
}

}  // namespace troupe
