#include "troupe/actors/aggregation/coordinator.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <cmath>
#include <functional>

#include "troupe/messages/answer.h"
#include "troupe/messages/tick.h"

namespace troupe {
namespace {

using Self = RememberingCoordinator::stateful_pointer<CoordinatorState>;
using Group = CoordinatorState::Group;

/// Those of the group whose version is the run's.
Rounds& leading(CoordinatorState& s) { return *s.groups.front().rounds; }

std::uint32_t group_of(const CoordinatorOptions& options, std::uint32_t shard) {
  return shard < options.group_of_shard.size() ? options.group_of_shard[shard] : 0;
}

template <class Work>
void for_shards_of(const CoordinatorState& s, const CoordinatorOptions& options, std::size_t group,
                   Work work) {
  for (const auto& [index, shard] : s.shards)
    if (group_of(options, index) == group) work(shard);
}

void tell(Self self, const CoordinatorOptions& options, std::string message) {
  if (options.listener)
    self->send(options.listener, report_atom_v,
               TrainingEvent{leading(self->state).version(), std::move(message)});
}

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
  if (!leading(s).waits_for_start()) {
    s.start_deadline.reset();
  } else if (!s.start_deadline) {
    s.start_deadline = now + options.start_patience;
    tick_at(self, *s.start_deadline);
  }
  const auto patience = options.aggregation.round_deadline;
  if (patience.count() == 0) return;
  std::map<std::uint32_t, CoordinatorState::Waited> waited;
  for (const auto& [replica, clock] : leading(s).waited_for()) {
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

void decide(Self self, const CoordinatorOptions& options);

void look_at_clock(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  const auto now = self->clock().now();
  if (s.start_deadline && now >= *s.start_deadline) {
    tell(self, options,
         text(numbers(leading(s).not_joined()), " did not join within ",
              options.start_patience.count(), " ms: the run begins without"));
    for (auto& group : s.groups) group.rounds->start_anyway();
  }
  for (auto& [replica, waited] : s.waited_for) {
    if (waited.named || now < waited.deadline) continue;
    waited.named = true;
    const auto others = leading(s).waiting();
    const auto leave_out = options.aggregation.leave_out_late;
    tell(self, options,
         text("replica ", replica, " has kept ", numbers(others), " waiting for ",
              options.aggregation.round_deadline.count(), " ms",
              leave_out ? ": they go on without it" : ""));
    leading(s).miss_deadline(replica, leave_out);
  }
  decide(self, options);
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

AggregationStatus status_of(CoordinatorState& s) {
  auto status = leading(s).status();
  for (std::size_t i = 1; i < s.groups.size(); ++i) {
    status.groups.push_back(s.groups[i].rounds->status());
    status.groups.back().variables = s.groups[i].variables;
  }
  return status;
}

/// The counts and clocks of a run that is gone on with.
void restore(CoordinatorState& s, const AggregationStatus& status) {
  leading(s).restore(status);
  for (const auto& before : status.groups)
    for (auto& group : s.groups)
      if (group.variables == before.variables) group.rounds->restore(before);
}

/// Asks for the data as they stand after the decisions so far: whoever has them has been told
/// of all of these before.
void cut(Self self, const std::function<void(DataState)>& take) {
  auto& s = self->state;
  auto status = status_of(s);
  const auto without = [version = status.version, take](std::string why) {
    DataState state;
    state.version = version;
    state.missing = std::move(why);
    take(std::move(state));
  };
  if (!s.keeper) return without("nobody keeps the data");
  self->request(s.keeper, caf::infinite, cut_atom_v, std::move(status))
      .then([take](DataState& state) { take(std::move(state)); },
            [without](const caf::error& why) { without(to_error(why).what()); });
}

/// What replicas remember goes into the checkpoint of this version: before the shards are told of
/// it, as the last of them makes it complete.
void keep_memories(Self self, const CoordinatorOptions& options) {
  auto memories = self->state.memories.all();
  if (options.book && !memories.empty())
    self->send(options.book, snapshot_atom_v, leading(self->state).version(), std::move(memories));
}

void catch_up(Self self, const CoordinatorOptions& options);

/// There is room for another version that is to be kept, or nobody looks after that any more.
void go_on_from_backlog(Self self, const CoordinatorOptions& options) {
  self->state.waited_for.clear();  // nobody was late by the time that the disk took
  decide(self, options);
  catch_up(self, options);
}

void expect_written(Self self, const CoordinatorOptions& options) {
  if (!options.book) return;
  if (leading(self->state).over()) return self->state.backlog.open();
  const auto version = leading(self->state).version();
  self->state.backlog.add(version);
  self->request(options.book, caf::infinite, expect_atom_v, version)
      .then(
          [self, options, version](caf::ok_atom) {
            self->state.backlog.written(version);
            go_on_from_backlog(self, options);
          },
          [](const caf::error&) {});  // it has ended, which is told otherwise
}

void stop_waiting_for_disk(Self self, const CoordinatorOptions& options) {
  self->state.backlog.open();
  go_on_from_backlog(self, options);
}

void keep_data(Self self, const CoordinatorOptions& options) {
  expect_written(self, options);
  if (!options.sink) return;
  cut(self, [self, sink = options.sink](DataState state) {
    self->send(sink, snapshot_atom_v, std::move(state));
  });
}

/// Tells the shards of a group, and keeps in mind what they are told.
void tell_shards(Self self, const CoordinatorOptions& options, std::size_t at,
                 RoundDecision& decision) {
  auto& group = self->state.groups[at];
  decision.number = ++group.decisions;
  group.decided.push_back({decision, std::nullopt});
  for_shards_of(self->state, options, at,
                [&](const Shard& shard) { self->send(shard, decide_atom_v, decision); });
}

/// Sets on which all groups have decided now that this one has.
std::vector<SettledSet> settled_everywhere(CoordinatorState& s, std::vector<SettledSet> sets) {
  if (s.groups.size() == 1) return sets;
  std::vector<SettledSet> everywhere;
  for (const auto& set : sets) {
    const std::pair key(set.replica, set.first);
    auto& settling = s.settling[key];
    if (settling.groups > 0 && settling.set.fate != set.fate)
      fail(Code::internal, "groups of variables do not agree on a set of replica ", set.replica);
    settling.set = set;
    if (++settling.groups < s.groups.size()) continue;
    everywhere.push_back(set);
    s.settling.erase(key);
  }
  return everywhere;
}

void tell_settled(Self self, std::vector<SettledSet> sets) {
  auto& s = self->state;
  if (s.batches && !sets.empty())
    self->send(s.batches, settle_atom_v, Settlement{leading(s).version(), std::move(sets)});
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
  if (at > 0) decision->next = leading(s).instructions();
  s.awaits_norms = decision->updates > 0 && (options.all_reduce || decision->clip_norm > 0);
  effect.settled = settled_everywhere(s, rounds.take_settled());
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
    const bool finished = leading(s).over();
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
    decision.next = leading(s).instructions();
    decision.keep = leading(s).version();
    tell_shards(self, options, at, decision);
  }
  keep_data(self, options);
}

void admit_late(Self self, const CoordinatorOptions& options);

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

/// A user's policy may throw: then there is no going on.
void decide(Self self, const CoordinatorOptions& options) {
  try {
    go_on(self, options);
  } catch (...) {
    self->quit(current_failure());
  }
}

/// Something on which the course of the run depends: it happens when it is its turn.
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

// ---- what has to wait ------------------------------------------------------------------------

bool must_wait(const CoordinatorState& s, const CoordinatorOptions& options) {
  return s.halted || s.backlog.full() || (options.all_reduce && s.awaits_norms);
}

void tell_of_disk(Self self, const CoordinatorOptions& options) {
  if (!self->state.backlog.full() || std::exchange(self->state.told_of_disk, true)) return;
  tell(self, options,
       text("checkpoints fall due (every ", options.snapshot_every,
            options.snapshot_every == 1 ? " step" : " steps",
            ") faster than they are written: training waits for the disk"));
}

using OptionsPtr = std::shared_ptr<const CoordinatorOptions>;

/// Something on which updates may follow: does the work now, or, in the order in which it came,
/// when nothing that is under way can be taken back any more and there is room for more
/// checkpoints.
template <class Work>
void when_free(Self self, const OptionsPtr& options, Work work) {
  auto& later = self->state.later;
  if (later.empty() && !must_wait(self->state, *options)) return work(*options);
  later.emplace_back([options, work = std::move(work)]() mutable { work(*options); });
  tell_of_disk(self, *options);
}

/// The same for what the actor says that is the shard of that number. When another one has taken
/// its place meanwhile, nobody has what it speaks of.
template <class Work>
void when_free(Self self, const OptionsPtr& options, std::uint32_t shard, Work work) {
  const auto from = caf::actor_cast<caf::actor_addr>(self->current_sender());
  when_free(self, options,
            [self, shard, from, work = std::move(work)](const CoordinatorOptions& options) mutable {
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

/// Forgets decisions that all shards of the group have carried out.
void note_carried_out(CoordinatorState& s, const CoordinatorOptions& options, std::uint32_t shard,
                      std::uint64_t decisions) {
  const auto at = group_of(options, shard);
  auto& group = s.groups.at(at);
  auto& known = group.carried_out[shard];
  known = std::max(known, decisions);
  auto shards = s.shard_count;
  for (std::uint32_t i = 0; i < options.group_of_shard.size(); ++i)
    shards -= group_of(options, i) == at ? 0 : 1;
  if (group.carried_out.size() < shards) return;
  auto everywhere = known;
  for (const auto& [index, number] : group.carried_out) everywhere = std::min(everywhere, number);
  while (!group.decided.empty() && group.decided.front().decision.number <= everywhere)
    group.decided.pop_front();
}

void take_norm(Self self, const CoordinatorOptions& options, std::uint32_t shard,
               std::uint64_t number, double sum) {
  auto& s = self->state;
  auto& group = s.groups.front();                            // with others nothing is clipped
  if (!s.awaits_norms || number != group.decisions) return;  // told again, or taken back
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
  group.decided.back().factor = factor;
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

// ---- shards of an all-reduce that are lost ---------------------------------------------------

/// As if the last decision had never been made, but that the sets of its update are gone.
void take_back(CoordinatorState& s) {
  auto tentative = std::move(*s.tentative);
  s.tentative.reset();
  s.awaits_norms = false;
  s.norms.clear();
  auto& group = s.groups.front();
  group.decided.pop_back();
  *group.rounds = std::move(tentative.before);
  for (const auto& set : tentative.decision.members)
    group.rounds->give_up_sets(set.replica, set.step);
}

/// Answers when all that are left have done the same.
caf::result<caf::ok_atom> halt(Self self, const CoordinatorOptions& options, std::uint32_t shard) {
  auto& s = self->state;
  if (!options.all_reduce)
    return fault(Code::failed_precondition, "coordinator: only shards of an all-reduce are lost");
  s.lost_shards.insert(shard);
  s.halted = true;
  s.may_go_on = false;
  const auto number = s.tentative ? s.tentative->decision.number : 0;
  if (s.tentative) take_back(s);
  leading(s).give_up_sets(shard);  // it was that of the replica of this number
  auto given_up = leading(s).take_settled();
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

/// Goes on when somebody has attached for each that was lost.
void go_on_if_whole(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  if (!s.halted || !s.may_go_on || !s.lost_shards.empty()) return;
  s.halted = false;
  catch_up(self, options);
  decide(self, options);
}

// ---- shards ----------------------------------------------------------------------------------

void attach(Self self, const CoordinatorOptions& options, std::uint32_t shard, const Shard& handle,
            Version version, std::uint64_t carried_out) {
  auto& s = self->state;
  auto& group = s.groups.at(group_of(options, shard));
  const auto before = std::exchange(s.shards[shard], handle);
  s.shard_count = std::max(s.shard_count, s.shards.size());
  if (group.decisions == 0) group.rounds->set_version(std::max(version, group.rounds->version()));
  for (const auto& [decision, factor] : group.decided) {
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
  s.groups.front().carried_out.erase(shard);
}

// ---- replicas and their sets -----------------------------------------------------------------

std::size_t shards_of_a_replica(const CoordinatorOptions& options) {
  return options.all_reduce ? 1 : options.shards;
}

/// All groups leave the set out.
void refuse(CoordinatorState& s, const GradientCommit& commit, SetFate fate, Code code = Code::ok,
            const std::string& message = {}) {
  for (auto& group : s.groups) group.rounds->refuse(commit, fate, code, message);
}

/// Whole sets of a replica on which not all groups have decided.
std::vector<SettledSet> undecided(const CoordinatorState& s, std::uint32_t replica) {
  std::map<std::uint64_t, SettledSet> sets;
  for (const auto& group : s.groups)
    for (const auto& set : group.rounds->undecided(replica)) sets.emplace(set.first, set);
  std::vector<SettledSet> all;
  for (const auto& [first, set] : sets) all.push_back(set);
  return all;
}

/// What has not come everywhere will not come any more.
void forget_arriving(CoordinatorState& s, std::uint32_t replica) {
  s.whole.erase(replica);
  for (auto i = s.arriving.begin(); i != s.arriving.end();) {
    if (i->first.first != replica) {
      ++i;
      continue;
    }
    refuse(s, i->second.worst.commit, SetFate::given_up);
    i = s.arriving.erase(i);
  }
}

/// The actor at that address is not the replica of that number any more.
void part_with(Self self, std::uint32_t replica, const caf::actor_addr& who, bool is_lost) {
  auto& s = self->state;
  const auto joining = s.joining.find(replica);
  if (joining != s.joining.end() && joining->second.handle.address() == who)
    s.joining.erase(joining);
  const auto late = s.late_joins.find(replica);
  if (late != s.late_joins.end() && late->second.address() == who) s.late_joins.erase(late);
  Settlement left{leading(s).version(), {}};
  const auto found = s.replicas.find(replica);
  if (found != s.replicas.end() && found->second.address() == who) {
    s.replicas.erase(found);
    for (auto& group : s.groups)
      is_lost ? group.rounds->lose(replica) : group.rounds->leave(replica);
    if (is_lost) s.lost[replica] = who;
    left.sets = undecided(s, replica);
    forget_arriving(s, replica);
  }
  if (s.batches) self->send(s.batches, leave_atom_v, replica, who, std::move(left));
}

void leave(Self self, const CoordinatorOptions& options, std::uint32_t replica,
           const caf::actor_addr& who) {
  auto& s = self->state;
  const auto found = s.replicas.find(replica);
  if (found == s.replicas.end() || found->second.address() != who) {
    part_with(self, replica, who, false);
    // It was done before it died, which its shard could not pass on: nobody comes in its place.
    const auto lost = s.lost.find(replica);
    if (lost != s.lost.end() && lost->second == who)
      for (auto& group : s.groups) group.rounds->leave(replica);
    return decide(self, options);
  }
  // Every shard tells; the first one counts.
  if (!s.leaving.insert(who).second) return;
  happen(self, options, {RecordedEvent::Kind::left, replica, 0},
         [self, replica, who] { part_with(self, replica, who, false); });
}

void take_down(Self self, const CoordinatorOptions& options, const caf::down_msg& down) {
  auto& s = self->state;
  const auto found = s.watched.find(down.source);
  if (found == s.watched.end()) return;
  const auto replica = found->second;
  s.watched.erase(found);
  s.gone.insert(down.source);
  const auto is_member = s.replicas.find(replica);
  if (s.order.records() && is_member != s.replicas.end() &&
      is_member->second.address() == down.source)
    s.order.happen({RecordedEvent::Kind::lost, replica, 0}, [] {});
  part_with(self, replica, down.source, s.replaces_lost);
  decide(self, options);
}

void watch_for_death(Self self, std::uint32_t replica, const Replica& handle) {
  if (self->state.watched.emplace(handle.address(), replica).second) self->monitor(handle);
}

void take_in(Self self, const CoordinatorOptions& options, std::uint32_t replica,
             const Replica& handle) {
  happen(self, options, {RecordedEvent::Kind::joined, replica, 0}, [self, replica, handle] {
    auto& s = self->state;
    s.replicas[replica] = handle;
    s.lost.erase(replica);
    for (auto& group : s.groups) group.rounds->join(replica);
    if (s.batches) self->send(s.batches, join_atom_v, replica);
  });
}

/// What one of that number left behind is part of some variables, and will be of all.
bool leaves_half(const CoordinatorState& s, std::uint32_t replica) {
  const auto first = s.settling.lower_bound({replica, 0});
  return first != s.settling.end() && first->first.first == replica;
}

/// Takes in replicas that had to wait for what the one before them left behind.
void admit_late(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  const auto late = std::find_if(s.late_joins.begin(), s.late_joins.end(),
                                 [&](const auto& one) { return !leaves_half(s, one.first); });
  if (late == s.late_joins.end()) return;
  const auto [replica, handle] = *late;
  s.late_joins.erase(late);
  take_in(self, options, replica, handle);  // and then the next one
}

void join(Self self, const CoordinatorOptions& options, std::uint32_t shard, std::uint32_t replica,
          const Replica& handle) {
  auto& s = self->state;
  const auto here = s.replicas.find(replica);
  if (here != s.replicas.end() && here->second == handle) return;  // told again
  // It died before its shard's word of it came: another may be on its way already.
  if (s.gone.count(handle.address()) > 0) return;
  auto& joining = s.joining[replica];
  if (joining.handle != handle) joining = {handle, {}};
  watch_for_death(self, replica, handle);
  joining.shards.insert(shard);
  if (joining.shards.size() < shards_of_a_replica(options)) return;
  s.joining.erase(replica);
  const auto before = s.replicas.find(replica);
  if (before != s.replicas.end()) part_with(self, replica, before->second.address(), true);
  if (!leaves_half(s, replica)) return take_in(self, options, replica, handle);
  s.late_joins[replica] = handle;
  decide(self, options);
}

void take_whole_set(Self self, const CoordinatorOptions& options,
                    const CoordinatorState::Arriving& set) {
  auto& s = self->state;
  const auto& report = set.worst;
  const auto& commit = report.commit;
  const auto refuse = [&](SetFate fate, Code code = Code::ok, const std::string& message = {}) {
    troupe::refuse(s, commit, fate, code, message);
  };
  if (report.code != Code::ok) return refuse(SetFate::skipped, report.code, report.fault);
  if (commit.given_up) return refuse(SetFate::given_up);
  if (report.not_finite.empty()) {
    for (const auto& [group, version] : set.versions) {
      auto here = commit;
      here.version = version;
      s.groups[group].rounds->add(here);
    }
    return;
  }
  auto words = text("step ", commit.step, ": the gradient of '", report.not_finite,
                    "' has values that are not finite");
  if (options.aggregation.not_finite == NotFinite::fail)
    return refuse(SetFate::skipped, Code::invalid_argument,
                  text(words, ", computed from the parameters of step ", commit.version,
                       ": try a smaller learning rate, or clip the gradients"));
  tell(self, options, text("replica ", commit.replica, ", ", words, ": it is left out"));
  refuse(SetFate::skipped);
}

void take_report(Self self, const CoordinatorOptions& options, const SetReport& report) {
  auto& s = self->state;
  const auto& commit = report.commit;
  note_carried_out(s, options, report.shard, report.decisions);
  const auto has_it = [&](const Group& group) {
    return group.rounds->has(commit.replica, commit.step);
  };
  // Told again by the copy of a shard; its replica may have left.
  if (std::any_of(s.groups.begin(), s.groups.end(), has_it)) return;
  if (!leading(s).takes_part(commit.replica)) {  // it has left meanwhile
    refuse(s, commit, SetFate::given_up);
    return decide(self, options);
  }
  const auto last = s.whole.find(commit.replica);
  if (last != s.whole.end() && commit.step <= last->second) return;  // told again
  const std::pair key(commit.replica, commit.step);
  auto& arriving = s.arriving[key];
  const bool complains = report.code != Code::ok || !report.not_finite.empty();
  // That of the first shard, whatever came first.
  if (arriving.shards.empty() ||
      (complains && (arriving.worst.code == Code::ok && arriving.worst.not_finite.empty())) ||
      (complains && report.shard < arriving.worst.shard))
    arriving.worst = report;
  arriving.shards.insert(report.shard);
  arriving.versions[group_of(options, report.shard)] = commit.version;
  if (arriving.shards.size() < shards_of_a_replica(options)) return;
  s.whole[commit.replica] = commit.step;
  happen(self, options, {RecordedEvent::Kind::set, commit.replica, commit.step},
         [self, options, whole = s.arriving.extract(key).mapped()] {
           take_whole_set(self, options, whole);
         });
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
  self->state.groups.push_back({"", std::make_unique<Rounds>(rules), 0, {}, {}, {}});
  rules.max_steps = 0;  // those who lead count
  for (const auto& group : a.groups) {
    rules.policy = group.policy;
    self->state.groups.push_back({group.variables, std::make_unique<Rounds>(rules), 0, {}, {}, {}});
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
        if (s.awaits_norms && number == s.groups.front().decisions) self->quit(why);
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
        when_free(self, shared, [self](const CoordinatorOptions& options) {
          for (auto& group : self->state.groups) group.rounds->give_up_lost();
          decide(self, options);
        });
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
