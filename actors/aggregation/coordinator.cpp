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

using Self = SavingCoordinator::stateful_pointer<CoordinatorState>;

void tell(Self self, const CoordinatorOptions& options, std::string message) {
  if (options.listener)
    self->send(options.listener, report_atom_v,
               TrainingEvent{self->state.rounds->version(), std::move(message)});
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
  if (!s.rounds->waits_for_start()) {
    s.start_deadline.reset();
  } else if (!s.start_deadline) {
    s.start_deadline = now + options.start_patience;
    tick_at(self, *s.start_deadline);
  }
  const auto patience = options.aggregation.round_deadline;
  if (patience.count() == 0) return;
  std::map<std::uint32_t, CoordinatorState::Waited> waited;
  for (const auto& [replica, clock] : s.rounds->waited_for()) {
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
         text(numbers(s.rounds->not_joined()), " did not join within ",
              options.start_patience.count(), " ms: the run begins without"));
    s.rounds->start_anyway();
  }
  for (auto& [replica, waited] : s.waited_for) {
    if (waited.named || now < waited.deadline) continue;
    waited.named = true;
    const auto others = s.rounds->waiting();
    const auto leave_out = options.aggregation.leave_out_late;
    tell(self, options,
         text("replica ", replica, " has kept ", numbers(others), " waiting for ",
              options.aggregation.round_deadline.count(), " ms",
              leave_out ? ": they go on without it" : ""));
    s.rounds->miss_deadline(replica, leave_out);
  }
  decide(self, options);
}

// ---- decisions -------------------------------------------------------------------------------

void tell_new_policy(Self self, const CoordinatorOptions& options, const std::string& policy) {
  auto& s = self->state;
  tell(self, options, text("the policy is '", policy, "' from here on"));
  const auto& p = s.rounds->policy();
  if (s.batches)
    self->send(s.batches, assign_atom_v, p.whole_rounds() && !options.aggregation.leave_out_late);
  for (auto& promise : s.policy_promises) promise.deliver(caf::ok_atom_v);
  s.policy_promises.clear();
}

/// Asks for the data as they stand after the decisions so far: whoever has them has been told
/// of all of these before.
void cut(Self self, const std::function<void(DataState)>& take) {
  auto& s = self->state;
  auto status = s.rounds->status();
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

/// Decides all that can be decided.
void go_on(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  while (!s.awaits_norms) {
    const auto before = s.rounds->version();
    auto decision = s.rounds->next();
    if (!decision) break;
    s.awaits_norms = decision->clip_norm > 0 && decision->updates > 0;
    decision->number = ++s.decisions;
    s.decided.push_back({*decision, std::nullopt});
    for (const auto& [index, shard] : s.shards) self->send(shard, decide_atom_v, *decision);
    auto settled = s.rounds->take_settled();
    if (s.batches && !settled.empty())
      self->send(s.batches, settle_atom_v, Settlement{s.rounds->version(), std::move(settled)});
    const auto every = options.snapshot_every;
    if (options.sink && every > 0 && s.rounds->version() / every != before / every)
      cut(self, [self, sink = options.sink](DataState state) {
        self->send(sink, snapshot_atom_v, std::move(state));
      });
    for (const auto replica : s.rounds->take_doomed())
      self->send(s.replicas.at(replica), give_up_atom_v, s.rounds->version());
    if (!decision->policy.empty()) tell_new_policy(self, options, decision->policy);
  }
  watch(self, options);
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

void take_norm(Self self, const CoordinatorOptions& options, std::uint32_t shard,
               std::uint64_t number, double sum) {
  auto& s = self->state;
  if (!s.awaits_norms || number != s.decisions) return;  // told again
  s.norms[shard] = sum;
  if (s.norms.size() < options.shards) return;
  double total = 0;
  for (const auto& [index, norm] : s.norms)  // in a fixed order
    total = options.all_reduce ? norm : total + norm;
  s.norms.clear();
  const auto norm = std::sqrt(total);
  const auto most = options.aggregation.clip_norm;
  const double factor = norm > most ? most / norm : 1;
  if (factor < 1) s.rounds->count_clipped();
  s.decided.back().factor = factor;
  for (const auto& [index, to] : s.shards) self->send(to, norm_atom_v, factor);
  happen(self, options, {RecordedEvent::Kind::norm, 0, s.rounds->version()},
         [self] { self->state.awaits_norms = false; });
}

// ---- shards ----------------------------------------------------------------------------------

void attach(Self self, std::uint32_t shard, const Shard& handle, Version version,
            std::uint64_t carried_out) {
  auto& s = self->state;
  s.shards[shard] = handle;
  if (s.decisions == 0) s.rounds->set_version(std::max(version, s.rounds->version()));
  for (const auto& [decision, factor] : s.decided) {
    if (decision.number <= carried_out) continue;
    self->send(handle, decide_atom_v, decision);
    if (factor) self->send(handle, norm_atom_v, *factor);
  }
}

/// Forgets decisions that all shards have carried out.
void note_carried_out(CoordinatorState& s, const CoordinatorOptions& options, std::uint32_t shard,
                      std::uint64_t decisions) {
  auto& known = s.carried_out[shard];
  known = std::max(known, decisions);
  if (s.carried_out.size() < options.shards) return;
  auto everywhere = known;
  for (const auto& [index, number] : s.carried_out) everywhere = std::min(everywhere, number);
  while (!s.decided.empty() && s.decided.front().decision.number <= everywhere)
    s.decided.pop_front();
}

// ---- replicas and their sets -----------------------------------------------------------------

std::size_t shards_of_a_replica(const CoordinatorOptions& options) {
  return options.all_reduce ? 1 : options.shards;
}

/// What has not come everywhere will not come any more.
void forget_arriving(CoordinatorState& s, std::uint32_t replica) {
  s.whole.erase(replica);
  for (auto i = s.arriving.begin(); i != s.arriving.end();) {
    if (i->first.first != replica) {
      ++i;
      continue;
    }
    s.rounds->refuse(i->second.worst.commit, SetFate::given_up);
    i = s.arriving.erase(i);
  }
}

/// The actor at that address is not the replica of that number any more.
void part_with(Self self, std::uint32_t replica, const caf::actor_addr& who, bool is_lost) {
  auto& s = self->state;
  const auto joining = s.joining.find(replica);
  if (joining != s.joining.end() && joining->second.handle.address() == who)
    s.joining.erase(joining);
  Settlement undecided{s.rounds->version(), {}};
  const auto found = s.replicas.find(replica);
  if (found != s.replicas.end() && found->second.address() == who) {
    s.replicas.erase(found);
    if (is_lost)
      s.rounds->lose(replica);
    else
      s.rounds->leave(replica);
    undecided.sets = s.rounds->undecided(replica);
    forget_arriving(s, replica);
  }
  if (s.batches) self->send(s.batches, leave_atom_v, replica, who, std::move(undecided));
}

void leave(Self self, const CoordinatorOptions& options, std::uint32_t replica,
           const caf::actor_addr& who) {
  const auto found = self->state.replicas.find(replica);
  if (found == self->state.replicas.end() || found->second.address() != who) {
    part_with(self, replica, who, false);
    return decide(self, options);
  }
  // Every shard tells; the first one counts.
  if (!self->state.leaving.insert(who).second) return;
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
  happen(self, options, {RecordedEvent::Kind::joined, replica, 0}, [self, replica, handle] {
    auto& s = self->state;
    s.replicas[replica] = handle;
    s.rounds->join(replica);
    if (s.batches) self->send(s.batches, join_atom_v, replica);
  });
}

void take_whole_set(Self self, const CoordinatorOptions& options, const SetReport& report) {
  auto& s = self->state;
  const auto& commit = report.commit;
  const auto refuse = [&](SetFate fate, Code code = Code::ok, std::string message = {}) {
    s.rounds->refuse(commit, fate, code, std::move(message));
  };
  if (report.code != Code::ok) return refuse(SetFate::skipped, report.code, report.fault);
  if (commit.given_up) return refuse(SetFate::given_up);
  if (report.not_finite.empty()) return s.rounds->add(commit);
  auto words = text("replica ", commit.replica, ", step ", commit.step, ": the gradient of '",
                    report.not_finite, "' has values that are not finite");
  if (options.aggregation.not_finite == NotFinite::fail)
    return refuse(SetFate::skipped, Code::invalid_argument,
                  text(words, ", computed from the parameters of step ", commit.version,
                       ": try a smaller learning rate, or clip the gradients"));
  tell(self, options, text(words, ": it is left out"));
  refuse(SetFate::skipped);
}

void take_report(Self self, const CoordinatorOptions& options, const SetReport& report) {
  auto& s = self->state;
  const auto& commit = report.commit;
  note_carried_out(s, options, report.shard, report.decisions);
  if (!s.rounds->takes_part(commit.replica)) {  // it has left meanwhile
    s.rounds->refuse(commit, SetFate::given_up);
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
  if (arriving.shards.size() < shards_of_a_replica(options)) return;
  s.whole[commit.replica] = commit.step;
  happen(self, options, {RecordedEvent::Kind::set, commit.replica, commit.step},
         [self, options, whole = s.arriving.extract(key).mapped().worst] {
           take_whole_set(self, options, whole);
         });
}

}  // namespace

SavingCoordinator::behavior_type coordinator(Self self, CoordinatorOptions options) {
  RoundsOptions rules;
  rules.policy = options.aggregation.policy;
  rules.replicas = options.replicas;
  rules.max_steps = options.max_steps;
  rules.deterministic = options.deterministic;
  rules.accumulate = options.aggregation.accumulate;
  rules.clip_norm = options.aggregation.clip_norm;
  rules.table = options.table;
  rules.may_leave_out = options.aggregation.leave_out_late;
  self->state.rounds = std::make_unique<Rounds>(rules);
  self->state.replaces_lost = options.replaces_lost;
  if (const auto& a = options.aggregation; !a.record.empty())
    self->state.order.record(a.record + "/decisions", options.run);
  else if (!a.replay.empty())
    self->state.order.replay(a.replay + "/decisions", options.run);
  self->set_down_handler(
      [self, options](const caf::down_msg& down) { take_down(self, options, down); });
  on_tick(self, [self, options] { look_at_clock(self, options); });
  return {
      [self](attach_atom, std::uint32_t shard, const Shard& handle, Version version,
             std::uint64_t carried_out) { attach(self, shard, handle, version, carried_out); },
      [self](expect_atom, std::uint32_t replica, const Replica& handle) {
        watch_for_death(self, replica, handle);
      },
      [self](assign_atom, const Feeder& batches) { self->state.batches = batches; },
      [self, options](join_atom, std::uint32_t shard, std::uint32_t replica,
                      const Replica& handle) { join(self, options, shard, replica, handle); },
      [self, options](leave_atom, std::uint32_t, std::uint32_t replica,
                      const caf::actor_addr& who) { leave(self, options, replica, who); },
      [self, options](ready_atom, const SetReport& report) { take_report(self, options, report); },
      [self, options](norm_atom, std::uint32_t shard, std::uint64_t number, double sum) {
        take_norm(self, options, shard, number, sum);
      },
      [self, options](stop_atom) {
        self->state.replaces_lost = false;
        self->state.rounds->give_up_lost();
        decide(self, options);
      },
      [self, options](policy_atom, const std::string& policy) -> caf::result<caf::ok_atom> {
        auto& s = self->state;
        try {
          s.rounds->change_policy(policy);
        } catch (...) {
          return current_fault();
        }
        auto promise = self->make_response_promise<caf::ok_atom>();
        s.policy_promises.push_back(promise);
        decide(self, options);
        return promise;
      },
      [self](status_atom) { return self->state.rounds->status(); },
      [self](assign_atom, const DataKeeper& keeper) { self->state.keeper = keeper; },
      [self](cut_atom) -> caf::result<DataState> {
        auto promise = self->make_response_promise<DataState>();
        cut(self, [promise](DataState state) mutable { promise.deliver(std::move(state)); });
        return promise;
      },
      [self](restore_atom, const AggregationStatus& status) {
        self->state.rounds->restore(status);
      },
  };
}

}  // namespace troupe
