#include "troupe/actors/topology/troupe.h"

#include <pthread.h>

#include <algorithm>
#include <caf/all.hpp>
#include <iterator>
#include <map>

namespace troupe {

Troupe::Troupe(ThreadBudget budget)
    : config_(std::make_unique<SystemConfig>(budget)),
      own_system_(std::make_unique<caf::actor_system>(*config_)),
      system_(own_system_.get()),
      shared_(std::make_unique<SharedQueues>(*system_)) {}

Troupe::Troupe(Troupe& host)
    : host_(&host), system_(host.system_), shared_(std::make_unique<SharedQueues>(*system_)) {}

Troupe::~Troupe() {
  if (!system_) return;
  constexpr std::chrono::seconds kPatience{30};
  stop(kPatience);
}

void Troupe::add(const std::string& name, caf::actor actor) {
  const std::lock_guard guard(mutex_);
  if (stopping_) return caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  members_.emplace_back(name, std::move(actor));
}

void Troupe::replace(const std::string& name, caf::actor actor) {
  std::unique_lock lock(mutex_);
  for (auto& [known, member] : members_)
    if (known == name) return std::swap(member, actor);
  lock.unlock();
  add(name, std::move(actor));
}

std::vector<std::pair<std::string, caf::actor>> Troupe::members() const {
  const std::lock_guard guard(mutex_);
  return members_;
}

std::string Troupe::name_of(const caf::actor& actor) const {
  const std::lock_guard guard(mutex_);
  for (const auto& [name, member] : members_)
    if (member == actor) return name;
  return host_ ? host_->name_of(actor) : "an actor";
}

void Troupe::dismiss(const caf::actor& member) {
  caf::anon_send_exit(member, caf::exit_reason::user_shutdown);
  const std::lock_guard guard(mutex_);
  std::erase_if(members_, [&](const auto& known) { return known.second == member; });
}

void Troupe::retire(const caf::actor& member) {
  const std::lock_guard guard(mutex_);
  const auto stays = std::stable_partition(
      members_.begin(), members_.end(), [&](const auto& known) { return known.second != member; });
  std::move(stays, members_.end(), std::back_inserter(retired_));
  members_.erase(stays, members_.end());
}

void Troupe::forget(const caf::actor& member) {
  const std::lock_guard guard(mutex_);
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
  {
    caf::scoped_actor self{*system_};
    for (const auto& queue : shared_->list()) add("shared queue " + queue.name.name, queue.actor);
    shared_.reset();
    std::vector<std::pair<std::string, caf::actor>> members;
    {
      const std::lock_guard guard(mutex_);
      stopping_ = true;
      members.swap(members_);
      members.insert(members.end(), retired_.begin(), retired_.end());
      retired_.clear();
    }
    for (const auto& [name, actor] : members) {
      alive[actor.address()] = name;
      self->monitor(actor);
      self->send_exit(actor, caf::exit_reason::user_shutdown);
    }
    members.clear();
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
  std::sort(names.begin(), names.end());
  system_ = nullptr;
  if (names.empty() && !left_behind_.load()) {
    own_system_.reset();
  } else if (host_) {
    host_->left_behind_.store(true);
  } else {
    // Waiting for them would wait for ever, and their threads use what they have.
    (void)own_system_.release();
    (void)config_.release();
  }
  return names;
}

}  // namespace troupe
