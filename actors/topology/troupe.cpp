#include "troupe/actors/topology/troupe.h"

#include <pthread.h>

#include <algorithm>
#include <caf/all.hpp>
#include <future>
#include <map>
#include <memory>
#include <thread>

namespace troupe {

Troupe::Troupe(ThreadBudget budget)
    : config_(std::make_unique<SystemConfig>(budget)),
      system_(std::make_unique<caf::actor_system>(*config_)),
      shared_(std::make_unique<SharedQueues>(*system_)) {}

Troupe::~Troupe() {
  if (!system_) return;
  constexpr std::chrono::seconds kPatience{30};
  stop(kPatience);
}

std::string Troupe::name_of(const caf::actor& actor) const {
  for (const auto& [name, member] : members_)
    if (member == actor) return name;
  return "an actor";
}

void Troupe::dismiss(const caf::actor& member) {
  caf::anon_send_exit(member, caf::exit_reason::user_shutdown);
  std::erase_if(members_, [&](const auto& known) { return known.second == member; });
}

void Troupe::name_this_thread(const std::string& name) {
  constexpr std::size_t kMost = 15;  // of Linux
  pthread_setname_np(pthread_self(), name.substr(0, kMost).c_str());
}

void Troupe::observe_actor(const caf::actor& actor, Role role) {
  topology_.nodes.push_back({name_of(actor), role});
  observed_.push_back(actor);
}

std::size_t Troupe::node_of(const caf::actor& actor) const {
  const auto found = std::find(observed_.begin(), observed_.end(), actor);
  if (found == observed_.end())
    fail(Code::failed_precondition, name_of(actor), " is linked, but not observed");
  return static_cast<std::size_t>(found - observed_.begin());
}

void Troupe::link_actors(const caf::actor& from, const caf::actor& to) {
  topology_.links.push_back({node_of(from), node_of(to)});
}

std::vector<std::string> Troupe::stop(std::chrono::milliseconds deadline) {
  if (!system_) return {};
  constexpr std::chrono::milliseconds kMost = std::chrono::hours(24 * 365);
  const auto until = std::chrono::steady_clock::now() +
                     std::clamp(deadline, std::chrono::milliseconds::zero(), kMost);
  std::map<caf::actor_addr, std::string> alive;
  std::vector<std::pair<std::string, caf::weak_actor_ptr>> ended;
  {
    caf::scoped_actor self{*system_};
    for (const auto& queue : shared_->list()) add("shared queue " + queue.name.name, queue.actor);
    shared_.reset();
    for (const auto& [name, actor] : members_) {
      alive[actor.address()] = name;
      ended.emplace_back(name, caf::actor_cast<caf::weak_actor_ptr>(actor));
      self->monitor(actor);
      self->send_exit(actor, caf::exit_reason::user_shutdown);
    }
    members_.clear();
    observed_.clear();
    while (!alive.empty()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now());
      if (left.count() <= 0) break;
      self->receive([&](const caf::down_msg& down) { alive.erase(down.source); },
                    caf::after(left) >> [] {});
    }
  }
  std::vector<std::string> names;
  for (const auto& [address, name] : alive) names.push_back(name);
  if (names.empty()) names = end_system(ended, until);
  std::sort(names.begin(), names.end());
  if (system_ && !names.empty()) {
    // Waiting for them would wait for ever, and their threads use what they have.
    (void)system_.release();
    (void)config_.release();
  }
  return names;
}

std::vector<std::string> Troupe::end_system(
    const std::vector<std::pair<std::string, caf::weak_actor_ptr>>& ended,
    std::chrono::steady_clock::time_point until) {
  const auto held = [&] {
    std::vector<std::string> names;
    for (const auto& [name, actor] : ended)
      if (caf::actor_cast<caf::strong_actor_ptr>(actor))
        names.push_back(name + " (somebody has kept a handle of it)");
    return names;
  };
  if (held().empty()) {
    system_.reset();
    return {};
  }
  // The thread of an actor that blocks ends with the last handle of it, and the system with the
  // last thread: somebody else waits for that.
  const auto gone = std::make_shared<std::promise<void>>();
  auto end = gone->get_future();
  std::thread waiting([gone, config = std::move(config_), system = std::move(system_)]() mutable {
    system.reset();
    gone->set_value();
  });
  if (end.wait_until(until) == std::future_status::ready) {
    waiting.join();
    return {};
  }
  waiting.detach();
  return held();
}

}  // namespace troupe
