#include "troupe/actors/aggregation/coordinator_replicas.h"

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/aggregation/coordinator_decisions.h"

namespace troupe {
namespace {

using Self = CoordinatorSelf;
using Group = CoordinatorState::Group;

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

/// Where some groups have decided on a set already, the others have to.
void stop_rounds(CoordinatorState& s) {
  if (!s.settling.empty()) return;
  for (auto& group : s.groups) group.rounds->stop();
}

/// The actor at that address is not the replica of that number any more.
void part_with(Self self, std::uint32_t replica, const caf::actor_addr& who, bool is_lost) {
  auto& s = self->state;
  const auto joining = s.joining.find(replica);
  if (joining != s.joining.end() && joining->second.handle.address() == who)
    s.joining.erase(joining);
  const auto late = s.late_joins.find(replica);
  if (late != s.late_joins.end() && late->second.address() == who) s.late_joins.erase(late);
  Settlement left{s.leading().version(), {}};
  const auto found = s.replicas.find(replica);
  if (found != s.replicas.end() && found->second.address() == who) {
    s.replicas.erase(found);
    if (s.stops_whole) stop_rounds(s);
    for (auto& group : s.groups)
      is_lost ? group.rounds->lose(replica) : group.rounds->leave(replica);
    if (is_lost) s.lost[replica] = who;
    left.sets = undecided(s, replica);
    for (const auto& commit : s.arriving.forget(replica)) refuse(s, commit, SetFate::given_up);
  }
  if (s.batches) self->send(s.batches, leave_atom_v, replica, who, std::move(left));
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

void take_whole_set(Self self, const CoordinatorOptions& options, const ArrivingSets::Whole& set) {
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

}  // namespace

void leave(Self self, const CoordinatorOptions& options, std::uint32_t replica,
           const caf::actor_addr& who) {
  auto& s = self->state;
  const auto found = s.replicas.find(replica);
  if (found == s.replicas.end() || found->second.address() != who) {
    part_with(self, replica, who, false);
    // It was done before it died, which its shard could not pass on: nobody comes in its place.
    const auto lost = s.lost.find(replica);
    if (lost != s.lost.end() && lost->second == who) {
      for (auto& group : s.groups) group.rounds->leave(replica);
      s.lost.erase(lost);
    }
    return decide(self, options);
  }
  // Every shard tells; the first one counts.
  if (!s.leaving.insert(who).second) return;
  happen(self, options, {RecordedEvent::Kind::left, replica, 0},
         [self, replica, who] { part_with(self, replica, who, false); });
}

void stop(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  s.stops_whole = options.deterministic;
  if (s.stops_whole && (!s.lost.empty() || s.replicas.empty() || s.leading().waits_for_start()))
    stop_rounds(s);
  for (auto& group : s.groups) group.rounds->give_up_lost();
  decide(self, options);
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
  if (joining.shards.size() < options.shards_of_a_replica()) return;
  s.joining.erase(replica);
  const auto before = s.replicas.find(replica);
  if (before != s.replicas.end()) part_with(self, replica, before->second.address(), true);
  if (!s.settling.has(replica)) return take_in(self, options, replica, handle);
  s.late_joins[replica] = handle;
  decide(self, options);
}

void admit_late(Self self, const CoordinatorOptions& options) {
  auto& s = self->state;
  const auto late = std::find_if(s.late_joins.begin(), s.late_joins.end(),
                                 [&](const auto& one) { return !s.settling.has(one.first); });
  if (late == s.late_joins.end()) return;
  const auto [replica, handle] = *late;
  s.late_joins.erase(late);
  take_in(self, options, replica, handle);  // and then the next one
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
  if (!s.leading().takes_part(commit.replica)) {  // it has left meanwhile
    refuse(s, commit, SetFate::given_up);
    return decide(self, options);
  }
  const auto whole =
      s.arriving.add(report, options.group_of(report.shard), options.shards_of_a_replica());
  if (!whole) return;
  happen(self, options, {RecordedEvent::Kind::set, commit.replica, commit.step},
         [self, options, whole] { take_whole_set(self, options, *whole); });
}

}  // namespace troupe
