#include "troupe/actors/training/conductor_replicas.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <string>
#include <utility>

#include "troupe/actors/training/conductor_ending.h"
#include "troupe/actors/training/conductor_progress.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

using Self = ConductorSelf;
using OptionsPtr = ConductorOptionsPtr;
using Clock = ConductorState::Clock;
using Member = ConductorState::Member;
using At = Member::At;

void leave(Self self, const OptionsPtr& options, const std::string& name) {
  auto& s = self->state;
  auto& m = s.members.at(name);
  if (m.at == At::end) return;
  m.at = At::end;
  s.rules->remove(name);
  if (m.leaving) {
    if (options->retire) options->retire(caf::actor_cast<caf::actor>(m.handle));
    tell(self, options, text(name, " has left"));
    if (options->group) self->send(options->group, leave_atom_v, m.index);
  }
  if (live_replicas(s) == 0) conclude(self, options);
}

/// It has answered with a failure, and is still there.
void take_failure(Self self, const OptionsPtr& options, const std::string& name,
                  const caf::error& error) {
  auto& m = self->state.members.at(name);
  // Nobody is to wait for it any more.
  self->send_exit(m.handle, error);
  if (options->spawn_replica && !repeats_itself(code_of(error)) && !self->state.stopping) return;
  fail_run(self, options, to_error(error), true);
  leave(self, options, name);
}

std::string list_batches(const LedgerStatus& books) {
  constexpr std::size_t kMost = 8;
  if (books.outstanding.empty()) return "nothing is computed again";
  std::int64_t records = 0;
  std::string numbers;
  for (std::size_t i = 0; i < books.outstanding.size(); ++i) {
    const auto& batch = books.outstanding[i].batch;
    records += batch.rows();
    if (i < kMost) numbers += text(i == 0 ? "" : ", ", batch.sequence);
    if (i == kMost) numbers += ", ...";
  }
  return text(books.outstanding.size() == 1 ? "batch " : "batches ", numbers, " (", records,
              records == 1 ? " record" : " records", ") computed again");
}

/// The feeder has heard from the coordinator, so that both know of the loss: whatever the
/// coordinator decided for the one that was lost comes before its successor joins.
void ask_what_is_lost(Self self, const OptionsPtr& options, const std::string& name) {
  auto& m = self->state.members.at(name);
  m.due = false;
  m.again.clear();
  const auto take = [=](const std::string& words) {
    auto& m = self->state.members.at(name);
    m.again = words;
    if (m.due) restart(self, options, name);
  };
  if (!options->feeder) return take("its batches are unknown");
  self->request(options->feeder, options->patience, ledger_atom_v, m.index, m.handle.address())
      .then([=](const LedgerStatus& books) { take(list_batches(books)); },
            [=](caf::error& error) { take(text("its batches are unknown: ", render(error))); });
}

bool stays(const Member& m) { return m.at != At::end && !m.leaving; }

void expect_change(const ConductorState& s, const ConductorOptions& options) {
  if (!s.started || s.stopping || s.over || live_replicas(s) == 0 || !options.spawn_replica)
    fail(Code::failed_precondition, "replicas come and go only while a run goes on");
  if (!options.fixed.empty()) fail(Code::failed_precondition, options.fixed);
}

/// One more takes part, with that shard if it has one of its own.
std::string take_in(Self self, const OptionsPtr& options, std::uint32_t index, const Shard& shard) {
  expect_change(self->state, *options);
  auto name = text("replica ", index);
  auto& s = self->state;
  s.next_index = std::max(s.next_index, index + 1);
  add_member(s, name, index, options->spawn_replica(index, name, shard)).shard = shard;
  tell(self, options, text(name, " joins"));
  start_replica(self, options, name);
  return name;
}

}  // namespace

std::size_t live_replicas(const ConductorState& s) {
  return static_cast<std::size_t>(std::count_if(
      s.members.begin(), s.members.end(), [](const auto& m) { return m.second.at != At::end; }));
}

std::int64_t staying_replicas(const ConductorState& s) {
  return std::count_if(s.members.begin(), s.members.end(),
                       [](const auto& m) { return stays(m.second); });
}

ConductorState::Member& add_member(ConductorState& s, const std::string& name, std::uint32_t index,
                                   const Replica& handle) {
  auto& m = s.members[name];
  m.index = index;
  m.handle = handle;
  s.rules->add({name});
  return m;
}

void start_replica(Self self, const OptionsPtr& options, const std::string& name) {
  const auto& m = self->state.members.at(name);
  const auto starts = m.starts;
  self->monitor(m.handle);
  if (options->coordinator) self->send(options->coordinator, expect_atom_v, m.index, m.handle);
  const auto is_it = [self, name, starts] {
    const auto& m = self->state.members.at(name);
    return m.starts == starts && m.at == At::work;
  };
  self->request(m.handle, caf::infinite, start_atom_v)
      .then(
          [=](std::uint64_t) {
            if (!is_it()) return;
            // It has told its shards, of which one may have died before it passed that on.
            const auto& m = self->state.members.at(name);
            if (options->coordinator)
              self->send(options->coordinator, leave_atom_v, std::uint32_t{0}, m.index,
                         m.handle.address());
            leave(self, options, name);
          },
          [=](caf::error& error) {
            // Of one that has died only the reason counts, which comes by another way.
            const bool is_ours = error.category() == caf::atom("troupe");
            if (is_ours && is_it()) take_failure(self, options, name, error);
          });
}

void restart(Self self, const OptionsPtr& options, const std::string& name) {
  auto& s = self->state;
  const auto found = s.members.find(name);
  if (found == s.members.end() || found->second.at != At::rest || s.stopping) return;
  auto& m = found->second;
  m.due = true;
  if (m.again.empty()) return;
  m.handle = options->spawn_replica(m.index, name, m.shard);
  m.at = At::work;
  ++m.starts;
  ++s.outcome.restarts;
  const auto away = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - m.lost_at);
  tell(self, options, text(name, " is started again after ", away.count(), " ms: ", m.again));
  start_replica(self, options, name);
}

void take_loss(Self self, const OptionsPtr& options, const std::string& name,
               const caf::error& reason) {
  using Kind = Supervision::Verdict::Kind;
  auto& s = self->state;
  auto& m = s.members.at(name);
  if (s.stopping) return leave(self, options, name);
  const auto step = s.last_steps.find(m.index);
  if (step != s.last_steps.end()) s.rules->note(name, text("its part of step ", step->second));
  const auto verdict = s.rules->ended(name, reason, self->clock().now());
  if (verdict.kind == Kind::give_up) fail_run(self, options, to_error(verdict.failure), true);
  if (verdict.kind != Kind::restart) return leave(self, options, name);
  m.at = At::rest;
  m.lost_at = Clock::now();
  tell(self, options, verdict.words);
  ask_what_is_lost(self, options, name);
  self->delayed_send(self, verdict.delay, start_atom_v, name);
}

caf::result<std::string> add_replica(Self self, const OptionsPtr& options) {
  const auto index = self->state.next_index;
  try {
    if (!options->group) return take_in(self, options, index, {});
    expect_change(self->state, *options);
  } catch (...) {
    return current_fault();
  }
  ++self->state.next_index;
  auto promise = self->make_response_promise<std::string>();
  self->request(options->group, options->patience, join_atom_v, index)
      .then(
          [=](const Shard& shard) mutable {
            try {
              promise.deliver(take_in(self, options, index, shard));
            } catch (...) {
              promise.deliver(current_fault());
            }
          },
          [=](caf::error& why) mutable { promise.deliver(why); });
  return promise;
}

std::string remove_replica(Self self, const OptionsPtr& options, std::string name) {
  auto& s = self->state;
  expect_change(s, *options);
  std::uint32_t newest = 0;
  for (const auto& [known, m] : s.members)
    if (stays(m)) newest = std::max(newest, m.index);
  if (name.empty()) name = text("replica ", newest);
  const auto found = s.members.find(name);
  if (found == s.members.end() || !stays(found->second))
    fail(Code::not_found, "no '", name, "' takes part in this run, or it is leaving already");
  if (staying_replicas(s) < 2)
    fail(Code::failed_precondition, name, " is the only replica that stays: stop the run instead");
  found->second.leaving = true;
  self->send(options->feeder, detach_atom_v, found->second.index);
  tell(self, options, text(name, " leaves when it has computed what it has"));
  return name;
}

void end_replicas(ConductorState& s) {
  for (const auto& [name, m] : s.members)
    if (m.at == At::work) caf::anon_send_exit(m.handle, caf::exit_reason::kill);
}

}  // namespace troupe
