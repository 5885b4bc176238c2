#include "troupe/actors/allreduce/group_keeper.h"

#include <algorithm>
#include <caf/send.hpp>
#include <memory>
#include <utility>

namespace troupe {
namespace {

using Self = ShardKeeper::stateful_pointer<GroupKeeperState>;
using OptionsPtr = std::shared_ptr<const GroupKeeperOptions>;
using Member = GroupKeeperState::Member;

void tell(Self self, const OptionsPtr& options, std::string message) {
  if (options->listener)
    self->send(options->listener, report_atom_v, TrainingEvent{0, std::move(message)});
}

std::vector<ReductionPort> ports_of(const GroupKeeperState& s) {
  std::vector<ReductionPort> ports;
  for (std::uint32_t i = 0; i < s.members.size(); ++i) {
    const auto newcomer = s.revival.newcomers.find(i);
    ports.push_back(newcomer == s.revival.newcomers.end() ? s.members[i].reducer
                                                          : newcomer->second.reducer);
  }
  return ports;
}

/// Those that were to take part will not.
void dismiss(GroupKeeperState& s) {
  for (const auto& [index, newcomer] : s.revival.newcomers) {
    caf::anon_send_exit(newcomer.shard, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(newcomer.reducer, caf::exit_reason::user_shutdown);
  }
  s.revival = {};
}

/// The newcomers are members from now on.
void take_in(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  for (auto& [index, newcomer] : s.revival.newcomers) {
    auto& member = s.members[index];
    member.shard = newcomer.shard;
    member.reducer = newcomer.reducer;
    member.lost = false;
    self->send(member.shard, promote_atom_v);
    // Not the shard itself: from it that might come after word of its death.
    self->send(options->coordinator, attach_atom_v, index, member.shard, s.revival.version,
               s.revival.decisions);
    for (const auto& replica : member.replicas)
      self->send(replica, redirect_atom_v, std::uint32_t{0}, member.shard);
    for (auto& asked : std::exchange(member.asked, {})) asked.promise.deliver(member.shard);
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
  for (std::uint32_t i = 0; i < s.members.size(); ++i) {
    if (!s.members[i].lost) continue;
    auto& newcomer = s.revival.newcomers[i];
    const auto count = static_cast<std::uint32_t>(s.members.size());
    newcomer.reducer = self->spawn(reducer, ReducerOptions{i, count, options->kind, "all-reduce"});
    newcomer.shard = self->spawn(parameter_shard,
                                 options_for(options->members[i].options, copy, newcomer.reducer),
                                 i == 0 ? options->sink : SnapshotSink());
    self->monitor(newcomer.shard);
    self->monitor(newcomer.reducer);
    ask(self, options, newcomer.shard, mirror_atom_v, copy);
  }
  const auto ports = ports_of(s);
  for (std::uint32_t i = 0; i < s.members.size(); ++i) {
    const auto newcomer = s.revival.newcomers.find(i);
    const bool is_new = newcomer != s.revival.newcomers.end();
    ask(self, options, is_new ? newcomer->second.reducer : s.members[i].reducer, join_atom_v,
        ports);
  }
}

/// All that are left have carried out the same decisions, and nothing else is decided.
void revive(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  const auto left = std::find_if(s.members.begin(), s.members.end(),
                                 [](const Member& member) { return !member.lost; });
  if (left == s.members.end())
    return self->quit(fault(Code::data_loss,
                            "all shards of the all-reduce have died: go on from the last "
                            "checkpoint"));
  const auto attempt = s.attempt;
  self->request(left->shard, caf::infinite, mirror_atom_v)
      .then(
          [=](ShardCopy& copy) {
            if (attempt == self->state.attempt) make_newcomers(self, options, copy);
          },
          [=](const caf::error& why) { take_refusal(self, attempt, why); });
}

/// A shard or reducer of that number has ended.
void lose(Self self, const OptionsPtr& options, std::uint32_t index, const std::string& who,
          const std::string& cause) {
  auto& s = self->state;
  auto& member = s.members[index];
  dismiss(s);
  ++s.attempt;
  const auto why = fault(Code::unavailable, who, " ", index, " died (", cause, ")");
  if (!std::exchange(member.lost, true)) {
    tell(self, options,
         text(who, " ", index, " died (", cause, "): another one gets what the others have"));
    self->send_exit(member.shard, why);
    self->send_exit(member.reducer, why);
    for (const auto& replica : std::exchange(member.replicas, {})) self->send_exit(replica, why);
  }
  ++s.halts;
  self->request(options->coordinator, caf::infinite, cancel_atom_v, index)
      .then(
          [self, options](caf::ok_atom) {
            if (--self->state.halts == 0) revive(self, options);
          },
          [](const caf::error&) {});  // it has ended: so does the run
}

void down(Self self, const OptionsPtr& options, const caf::down_msg& msg) {
  auto& s = self->state;
  for (auto& member : s.members)
    std::erase_if(member.replicas, [&](const auto& r) { return r.address() == msg.source; });
  // A run that stops ends everybody, in any order; so are those ended who are not needed.
  if (msg.reason == caf::exit_reason::user_shutdown) return;
  const std::string cause = to_error(msg.reason).what();
  for (std::uint32_t i = 0; i < s.members.size(); ++i) {
    const auto& member = s.members[i];
    const auto newcomer = s.revival.newcomers.find(i);
    const auto is = [&](const auto& actor) { return actor && actor.address() == msg.source; };
    const bool is_new = newcomer != s.revival.newcomers.end();
    if (is_new ? is(newcomer->second.shard) : !member.lost && is(member.shard))
      return lose(self, options, i, "shard", cause);
    if (is_new ? is(newcomer->second.reducer) : !member.lost && is(member.reducer))
      return lose(self, options, i, "reducer", cause);
  }
}

void attach(Self self, const OptionsPtr& options, std::uint32_t number, const Replica& replica) {
  auto& s = self->state;
  if (number >= s.members.size()) return;  // it has no shard here
  auto& member = s.members[number];
  self->monitor(replica);
  member.replicas.push_back(replica);
  // One that is lost will be told when there is another.
  if (!member.lost && member.shard != options->members[number].shard)
    self->send(replica, redirect_atom_v, std::uint32_t{0}, member.shard);
}

}  // namespace

GroupKeeperState::~GroupKeeperState() {
  dismiss(*this);
  for (const auto& member : members) {
    caf::anon_send_exit(member.shard, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(member.reducer, caf::exit_reason::user_shutdown);
  }
}

ShardKeeper::behavior_type group_keeper(Self self, GroupKeeperOptions given) {
  const auto options = std::make_shared<const GroupKeeperOptions>(std::move(given));
  self->set_down_handler([self, options](const caf::down_msg& msg) { down(self, options, msg); });
  for (const auto& kept : options->members) {
    self->state.members.push_back({kept.shard, kept.options.reducer, {}, {}, false});
    self->monitor(kept.shard);
    self->monitor(kept.options.reducer);
  }
  return {
      [self, options](attach_atom, std::uint32_t number, const Replica& replica) {
        attach(self, options, number, replica);
        return caf::ok_atom_v;
      },
      [self](redirect_atom, std::uint32_t shard,
             const caf::actor_addr& not_this) -> caf::result<Shard> {
        if (shard >= self->state.members.size())
          return fault(Code::invalid_argument, "group keeper: there is no shard ", shard);
        auto& member = self->state.members[shard];
        if (!member.lost && member.shard.address() != not_this) return member.shard;
        auto promise = self->make_response_promise<Shard>();
        member.asked.push_back({not_this, promise});
        return promise;
      },
  };
}

}  // namespace troupe
