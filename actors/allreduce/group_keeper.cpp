#include "troupe/actors/allreduce/group_keeper.h"

#include <algorithm>
#include <caf/send.hpp>
#include <memory>
#include <utility>

namespace troupe {
namespace {

using Self = GroupKeeper::stateful_pointer<GroupKeeperState>;
using OptionsPtr = std::shared_ptr<const GroupKeeperOptions>;
using Member = GroupKeeperState::Member;

constexpr std::uint32_t kFirst = 0;  ///< saves checkpoints, and is read by others

void tell(Self self, const OptionsPtr& options, std::string message) {
  if (options->listener)
    self->send(options->listener, report_atom_v, TrainingEvent{0, std::move(message)});
}

/// Of those that will be members.
std::vector<Reducer> reducers_of(const GroupKeeperState& s) {
  std::vector<Reducer> reducers;
  for (const auto& [index, member] : s.members) {
    if (member.leaves) continue;
    const auto newcomer = s.revival.newcomers.find(index);
    reducers.push_back(newcomer == s.revival.newcomers.end() ? member.reducer
                                                             : newcomer->second.reducer);
  }
  return reducers;
}

template <class Reason>
void end(Self self, const Member& member, const Reason& why) {
  if (member.shard) self->send_exit(member.shard, why);
  if (member.reducer) self->send_exit(member.reducer, why);
  for (const auto& replica : member.replicas) self->send_exit(replica, why);
}

/// Those that were to take part will not.
void dismiss(GroupKeeperState& s) {
  for (const auto& [index, newcomer] : s.revival.newcomers) {
    caf::anon_send_exit(newcomer.shard, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(newcomer.reducer, caf::exit_reason::user_shutdown);
  }
  s.revival = {};
}

void let_leavers_go(Self self, const OptionsPtr& options) {
  std::erase_if(self->state.members, [&](const auto& one) {
    const auto& [index, member] = one;
    if (!member.leaves) return false;
    self->send(options->coordinator, detach_atom_v, index);
    end(self, member, caf::exit_reason::user_shutdown);
    if (options->forget) {
      if (member.shard) options->forget(caf::actor_cast<caf::actor>(member.shard));
      if (member.reducer) options->forget(caf::actor_cast<caf::actor>(member.reducer));
    }
    return true;
  });
}

/// The newcomers are members from now on.
void take_in(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  let_leavers_go(self, options);
  for (auto& [index, newcomer] : s.revival.newcomers) {
    auto& member = s.members[index];
    member.shard = newcomer.shard;
    member.reducer = newcomer.reducer;
    member.made = true;
    member.lost = false;
    if (options->enter) {
      options->enter(text("shard ", index), caf::actor_cast<caf::actor>(member.shard));
      options->enter(text("reducer ", index), caf::actor_cast<caf::actor>(member.reducer));
    }
    if (!member.first) member.first = member.shard;
    self->send(member.shard, promote_atom_v);
    // Not the shard itself: from it that might come after word of its death.
    self->send(options->coordinator, attach_atom_v, index, member.shard, s.revival.version,
               s.revival.decisions);
    for (const auto& replica : member.replicas)
      self->send(replica, redirect_atom_v, std::uint32_t{0}, member.shard);
    for (auto& asked : std::exchange(member.asked, {})) asked.deliver(member.shard);
  }
  s.revival = {};
  self->send(options->coordinator, start_atom_v);
}

void count(Self self, const OptionsPtr& options, std::uint64_t attempt) {
  auto& s = self->state;
  if (attempt == s.attempt && --s.revival.missing == 0) take_in(self, options);
}

/// When somebody has ended there will be another attempt, but nothing helps against a refusal.
void take_refusal(Self self, std::uint64_t attempt, const caf::error& why) {
  if (attempt == self->state.attempt && code_of(why) != Code::unavailable) self->quit(why);
}

template <class To, class... Message>
void ask(Self self, const OptionsPtr& options, const To& whom, const Message&... message) {
  auto& s = self->state;
  ++s.revival.missing;
  const auto attempt = s.attempt;
  self->request(whom, caf::infinite, message...)
      .then([=](caf::ok_atom) { count(self, options, attempt); },
            [=](const caf::error& why) { take_refusal(self, attempt, why); });
}

ShardOptions options_for(const ShardOptions& kept, const ShardCopy& copy, const Reducer& reducer) {
  auto options = kept;
  options.reducer = reducer;
  options.mirror = true;
  for (auto& variable : options.variables) {
    const auto is_it = [&](const SavedTensor& saved) {
      return saved.variable == variable.name && saved.slot.empty();
    };
    const auto saved = std::find_if(copy.store.tensors.begin(), copy.store.tensors.end(), is_it);
    if (!variable.table && saved != copy.store.tensors.end()) variable.initial = saved->values;
  }
  return options;
}

/// Makes new members with what the others have.
void make_newcomers(Self self, const OptionsPtr& options, ShardCopy& copy) {
  auto& s = self->state;
  copy.members.clear();  // its replica's
  s.revival.version = copy.store.version;
  s.revival.decisions = copy.decisions;
  for (const auto& [index, member] : s.members) {
    if (!member.lost || member.leaves) continue;
    auto& newcomer = s.revival.newcomers[index];
    newcomer.reducer = self->spawn(reducer, ReducerOptions{options->kind, "all-reduce"});
    newcomer.shard =
        self->spawn(parameter_shard, options_for(member.options, copy, newcomer.reducer),
                    index == kFirst ? options->sink : SnapshotSink());
    self->monitor(newcomer.shard);
    self->monitor(newcomer.reducer);
    ask(self, options, newcomer.shard, mirror_atom_v, copy);
  }
  const auto reducers = reducers_of(s);
  const std::vector<ReductionPort> ports(reducers.begin(), reducers.end());
  for (const auto& one : reducers) ask(self, options, one, join_atom_v, ports);
}

/// All that are left have carried out the same decisions, and nothing else is decided.
void revive(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  const auto left = std::find_if(s.members.begin(), s.members.end(),
                                 [](const auto& member) { return !member.second.lost; });
  if (left == s.members.end())
    return self->quit(fault(Code::data_loss,
                            "all shards of the all-reduce have died: go on from the last "
                            "checkpoint"));
  const auto attempt = s.attempt;
  self->request(left->second.shard, caf::infinite, mirror_atom_v)
      .then(
          [=](ShardCopy& copy) {
            if (attempt == self->state.attempt) make_newcomers(self, options, copy);
          },
          [=](const caf::error& why) { take_refusal(self, attempt, why); });
}

/// Stops the others where all of them have carried out the same decisions, and goes on with the
/// members that there will be. Whatever was begun for that before has to be begun again.
void regroup(Self self, const OptionsPtr& options, std::uint32_t changed) {
  auto& s = self->state;
  dismiss(s);
  ++s.attempt;
  ++s.halts;
  self->request(options->coordinator, caf::infinite, cancel_atom_v, changed)
      .then(
          [self, options](caf::ok_atom) {
            if (--self->state.halts == 0) revive(self, options);
          },
          [](const caf::error&) {});  // it has ended: so does the run
}

/// A shard or reducer of that number has ended.
void lose(Self self, const OptionsPtr& options, std::uint32_t index, const std::string& who,
          const std::string& cause) {
  auto& member = self->state.members.at(index);
  const auto why = fault(Code::unavailable, who, " ", index, " died (", cause, ")");
  if (!std::exchange(member.lost, true)) {
    const bool others = std::any_of(self->state.members.begin(), self->state.members.end(),
                                    [](const auto& one) { return !one.second.lost; });
    tell(
        self, options,
        text(who, " ", index, " died (", cause, "): ",
             others ? "another one gets what the others have" : "nobody is left who has the same"));
    end(self, member, why);
    member.replicas.clear();
  }
  regroup(self, options, index);
}

void down(Self self, const OptionsPtr& options, const caf::down_msg& msg) {
  auto& s = self->state;
  for (auto& [index, member] : s.members)
    std::erase_if(member.replicas, [&](const auto& r) { return r.address() == msg.source; });
  // A run that stops ends everybody, in any order; so are those ended who are not needed.
  if (msg.reason == caf::exit_reason::user_shutdown) return;
  const std::string cause = to_error(msg.reason).what();
  for (const auto& [index, member] : s.members) {
    const auto newcomer = s.revival.newcomers.find(index);
    const auto is = [&](const auto& actor) { return actor && actor.address() == msg.source; };
    const bool is_new = newcomer != s.revival.newcomers.end();
    if (is_new ? is(newcomer->second.shard) : !member.lost && is(member.shard))
      return lose(self, options, index, "shard", cause);
    if (is_new ? is(newcomer->second.reducer) : !member.lost && is(member.reducer))
      return lose(self, options, index, "reducer", cause);
  }
}

void attach(Self self, std::uint32_t number, const Replica& replica) {
  const auto found = self->state.members.find(number);
  if (found == self->state.members.end()) return;  // it has no shard here
  auto& member = found->second;
  self->monitor(replica);
  member.replicas.push_back(replica);
  // One that is lost will be told when there is another.
  if (!member.lost && member.shard != member.first)
    self->send(replica, redirect_atom_v, std::uint32_t{0}, member.shard);
}

caf::result<Shard> add(Self self, const OptionsPtr& options, std::uint32_t number) {
  auto& members = self->state.members;
  if (members.count(number) > 0)
    return fault(Code::invalid_argument, "group keeper: there is a shard ", number);
  auto& member = members[number];
  member.options = members.at(kFirst).options;
  member.options.index = number;
  member.lost = true;  // nobody is there yet
  auto promise = self->make_response_promise<Shard>();
  member.asked.push_back(promise);
  regroup(self, options, number);
  return promise;
}

void remove(Self self, const OptionsPtr& options, std::uint32_t number) {
  const auto found = self->state.members.find(number);
  if (number == kFirst || found == self->state.members.end()) return;
  if (!std::exchange(found->second.leaves, true)) regroup(self, options, number);
}

}  // namespace

GroupKeeperState::~GroupKeeperState() {
  dismiss(*this);
  for (const auto& [index, member] : members) {
    if (!member.made) continue;
    caf::anon_send_exit(member.shard, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(member.reducer, caf::exit_reason::user_shutdown);
  }
}

GroupKeeper::behavior_type group_keeper(Self self, GroupKeeperOptions given) {
  const auto options = std::make_shared<const GroupKeeperOptions>(std::move(given));
  self->set_down_handler([self, options](const caf::down_msg& msg) { down(self, options, msg); });
  for (const auto& kept : options->members) {
    auto& member = self->state.members[kept.options.index];
    member.options = kept.options;
    member.first = member.shard = kept.shard;
    member.reducer = kept.options.reducer;
    self->monitor(member.shard);
    self->monitor(member.reducer);
  }
  return {
      [self](attach_atom, std::uint32_t number, const Replica& replica) {
        attach(self, number, replica);
        return caf::ok_atom_v;
      },
      [self](redirect_atom, std::uint32_t shard,
             const caf::actor_addr& not_this) -> caf::result<Shard> {
        const auto found = self->state.members.find(shard);
        if (found == self->state.members.end())
          return fault(Code::invalid_argument, "group keeper: there is no shard ", shard);
        auto& member = found->second;
        if (!member.lost && member.shard.address() != not_this) return member.shard;
        auto promise = self->make_response_promise<Shard>();
        member.asked.push_back(promise);
        return promise;
      },
      [self, options](join_atom, std::uint32_t number) { return add(self, options, number); },
      [self, options](leave_atom, std::uint32_t number) { remove(self, options, number); },
  };
}

}  // namespace troupe
