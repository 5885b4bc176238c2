#include "troupe/actors/supervision/supervisor.h"

#include <algorithm>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <memory>
#include <utility>

#include "troupe/messages/fault.h"
#include "troupe/messages/tick.h"

namespace troupe {
namespace {

using Self = Supervisor::stateful_pointer<SupervisorState>;
using OptionsPtr = std::shared_ptr<const SupervisorOptions>;
using Kind = Supervision::Verdict::Kind;

void tell(const OptionsPtr& options, const std::string& words) {
  if (options->events) options->events(words);
}

void end_children(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  s.restarts.clear();
  for (auto spec = options->children.rbegin(); spec != options->children.rend(); ++spec) {
    const auto found = s.running.find(spec->name);
    if (found == s.running.end()) continue;
    self->demonitor(found->second.actor);
    caf::anon_send_exit(found->second.actor, caf::exit_reason::user_shutdown);
  }
  s.running.clear();
}

void start(Self self, const OptionsPtr& options, const std::string& name) {
  auto& s = self->state;
  const auto spec = std::find_if(options->children.begin(), options->children.end(),
                                 [&](const ChildSpec& child) { return child.name == name; });
  const auto incarnation = s.starts[name]++;
  auto actor = spec->start(incarnation);
  self->monitor(actor);
  s.running[name] = {std::move(actor), incarnation};
  if (incarnation > 0) tell(options, text(name, " is started again"));
}

/// Starts again those whose time has come and whose predecessors have ended.
void start_due(Self self, const OptionsPtr& options) {
  auto& s = self->state;
  const auto now = self->clock().now();
  std::vector<SupervisorState::Restart> due;
  std::erase_if(s.restarts, [&](auto& restart) {
    if (!restart.ending.empty() || restart.due > now) return false;
    due.push_back(std::move(restart));
    return true;
  });
  for (const auto& restart : due)
    for (const auto& name : restart.children) start(self, options, name);
}

/// A child of those that are to be started again: ends it first if it runs.
void prepare(Self self, SupervisorState::Restart& restart, const std::string& name) {
  auto& s = self->state;
  const auto found = s.running.find(name);
  if (found == s.running.end()) return;
  restart.ending.insert(found->second.actor.address());
  caf::anon_send_exit(found->second.actor, caf::exit_reason::user_shutdown);
  s.running.erase(found);
}

void take_down(Self self, const OptionsPtr& options, const caf::down_msg& down) {
  auto& s = self->state;
  for (auto& restart : s.restarts)
    if (restart.ending.erase(down.source) > 0) return start_due(self, options);
  const auto found = std::find_if(s.running.begin(), s.running.end(), [&](const auto& child) {
    return child.second.actor.address() == down.source;
  });
  if (found == s.running.end()) return;
  const auto name = found->first;
  s.running.erase(found);
  const auto now = self->clock().now();
  const auto verdict = s.rules->ended(name, down.reason, now);
  if (!verdict.words.empty()) tell(options, verdict.words);
  if (verdict.kind == Kind::let_go) return;
  if (verdict.kind == Kind::give_up) {
    end_children(self, options);
    return self->quit(verdict.failure);
  }
  SupervisorState::Restart restart{verdict.children, {}, now + verdict.delay};
  // Another restart that some of them wait for is part of this one.
  for (auto& other : s.restarts)
    std::erase_if(other.children, [&](const std::string& child) {
      return std::count(verdict.children.begin(), verdict.children.end(), child) > 0;
    });
  for (auto child = verdict.children.rbegin(); child != verdict.children.rend(); ++child)
    prepare(self, restart, *child);
  s.restarts.push_back(std::move(restart));
  tick_at(self, now + verdict.delay);
}

}  // namespace

Supervisor::behavior_type supervisor(Self self, SupervisorOptions given) {
  validate(given.restarts);
  const auto options = std::make_shared<const SupervisorOptions>(std::move(given));
  auto& s = self->state;
  s.rules.emplace(options->restarts);
  for (const auto& child : options->children)
    s.rules->add({child.name, child.strategy, child.lifetime});
  self->set_down_handler(
      [self, options](const caf::down_msg& down) { take_down(self, options, down); });
  self->set_exit_handler([self, options](const caf::exit_msg& exit) {
    end_children(self, options);
    self->quit(exit.reason);
  });
  on_tick(self, [self, options] { start_due(self, options); });
  for (const auto& child : options->children) start(self, options, child.name);
  return {
      [self](report_atom, const std::string& child, std::string& line) {
        self->state.rules->note(child, std::move(line));
      },
      [self, options](status_atom) {
        std::vector<std::string> names;
        for (const auto& child : options->children)
          if (self->state.running.count(child.name) > 0) names.push_back(child.name);
        return names;
      },
  };
}

}  // namespace troupe
