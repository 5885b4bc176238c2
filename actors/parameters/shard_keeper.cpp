#include "troupe/actors/parameters/shard_keeper.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <memory>
#include <string>
#include <utility>

namespace troupe {
namespace {

using Self = ShardKeeper::stateful_pointer<ShardKeeperState>;
using OptionsPtr = std::shared_ptr<const ShardKeeperOptions>;
using Kept = ShardKeeperState::Kept;

void tell(Self self, const OptionsPtr& options, std::string message) {
  if (options->listener)
    self->send(options->listener, report_atom_v, TrainingEvent{0, std::move(message)});
}

/// Fills up the copies of a shard and tells it who they are.
void make_copies(Self self, const OptionsPtr& options, std::size_t index) {
  auto& kept = self->state.shards[index];
  while (kept.copies.size() < options->backups) {
    auto as_copy = options->shards[index].options;
    as_copy.mirror = true;
    kept.copies.push_back(self->spawn(parameter_shard, as_copy, options->sink));
    self->monitor(kept.copies.back());
  }
  std::vector<ShardMirror> mirrors;
  for (const auto& copy : kept.copies) mirrors.push_back(caf::actor_cast<ShardMirror>(copy));
  self->send(kept.shard, mirror_atom_v, mirrors);
}

void replace(Self self, const OptionsPtr& options, std::size_t index, const std::string& cause) {
  auto& kept = self->state.shards[index];
  const auto title = text("shard ", index);
  if (kept.copies.empty())
    return self->quit(fault(Code::data_loss, title, " and all its copies have died (", cause,
                            "): go on from the last checkpoint"));
  kept.shard = kept.copies.front();
  kept.copies.erase(kept.copies.begin());
  if (options->enter) options->enter(title, caf::actor_cast<caf::actor>(kept.shard));
  self->send(kept.shard, promote_atom_v);
  make_copies(self, options, index);
  const auto number = static_cast<std::uint32_t>(index);
  for (const auto& replica : self->state.replicas)
    self->send(replica, redirect_atom_v, number, kept.shard);
  for (auto& asked : std::exchange(kept.asked, {})) asked.deliver(kept.shard);
  tell(self, options,
       text(title, " died (", cause,
            "): its copy has taken its place, and another "
            "one is being made"));
}

void down(Self self, const OptionsPtr& options, const caf::down_msg& msg) {
  auto& s = self->state;
  std::erase_if(s.replicas, [&](const auto& r) { return r.address() == msg.source; });
  // A run that stops ends everybody, in any order.
  if (msg.reason == caf::exit_reason::user_shutdown) return;
  const std::string cause = to_error(msg.reason).what();
  for (std::size_t index = 0; index < s.shards.size(); ++index) {
    auto& kept = s.shards[index];
    if (kept.shard.address() == msg.source) return replace(self, options, index, cause);
    const auto copy = std::find_if(kept.copies.begin(), kept.copies.end(),
                                   [&](const auto& c) { return c.address() == msg.source; });
    if (copy == kept.copies.end()) continue;
    kept.copies.erase(copy);
    make_copies(self, options, index);
    tell(self, options,
         text("a copy of shard ", index, " died (", cause, "): another one is being made"));
  }
}

}  // namespace

ShardKeeperState::~ShardKeeperState() {
  for (const auto& kept : shards) {
    for (const auto& copy : kept.copies) caf::anon_send_exit(copy, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(kept.shard, caf::exit_reason::user_shutdown);
  }
}

ShardKeeper::behavior_type shard_keeper(Self self, ShardKeeperOptions given) {
  const auto options = std::make_shared<const ShardKeeperOptions>(std::move(given));
  self->set_down_handler([self, options](const caf::down_msg& msg) { down(self, options, msg); });
  for (std::size_t i = 0; i < options->shards.size(); ++i) {
    self->state.shards.push_back({options->shards[i].shard, {}, {}});
    self->monitor(options->shards[i].shard);
    make_copies(self, options, i);
  }
  return {
      [self, options](attach_atom, std::uint32_t, const Replica& replica) {
        auto& s = self->state;
        self->monitor(replica);
        s.replicas.push_back(replica);
        for (std::size_t i = 0; i < s.shards.size(); ++i)
          if (s.shards[i].shard != options->shards[i].shard)
            self->send(replica, redirect_atom_v, static_cast<std::uint32_t>(i), s.shards[i].shard);
        return caf::ok_atom_v;
      },
      [self](redirect_atom, std::uint32_t shard,
             const caf::actor_addr& not_this) -> caf::result<Shard> {
        if (shard >= self->state.shards.size())
          return fault(Code::invalid_argument, "shard keeper: there is no shard ", shard);
        auto& kept = self->state.shards[shard];
        if (kept.shard.address() != not_this) return kept.shard;
        auto promise = self->make_response_promise<Shard>();
        kept.asked.push_back(promise);
        return promise;
      },
  };
}

}  // namespace troupe
