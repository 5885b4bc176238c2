#pragma once

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/messages/fault.h"
#include "troupe/messages/system_config.h"

namespace troupe {

/// A set of actors with names, on threads of their own, that is started and
/// stopped as one. Not for use by several threads, stop() apart.
class Troupe {
 public:
  explicit Troupe(ThreadBudget budget);
  ~Troupe();
  Troupe(const Troupe&) = delete;
  Troupe& operator=(const Troupe&) = delete;

  caf::actor_system& system() { return *system_; }

  /// Spawns an actor and gives it a name, for messages about it.
  template <caf::spawn_options kOptions = caf::no_spawn_options, class Fn, class... Args>
  auto spawn(const std::string& name, Fn fn, Args&&... args) {
    auto actor = system_->spawn<kOptions>(fn, std::forward<Args>(args)...);
    add(name, caf::actor_cast<caf::actor>(actor));
    return actor;
  }
  void add(const std::string& name, caf::actor actor) {
    members_.emplace_back(name, std::move(actor));
  }
  const std::vector<std::pair<std::string, caf::actor>>& members() const { return members_; }

  /// Sends a request and waits for the answer. Throws the fault that is answered,
  /// and deadline_exceeded after `timeout`, naming the actor.
  template <class T, class Handle, class... Args>
  T ask(const Handle& whom, std::chrono::milliseconds timeout, Args... args) {
    caf::scoped_actor self{*system_};
    std::optional<T> answer;
    std::optional<Error> error;
    self->request(whom, caf::duration(timeout), std::move(args)...)
        .receive([&](T& value) { answer = std::move(value); },
                 [&](caf::error& e) { error = to_error(e); });
    if (error) throw error->within(name_of(caf::actor_cast<caf::actor>(whom)));
    return std::move(*answer);
  }

  /// The same without a time limit; calls `poll` several times a second while it waits.
  template <class T, class Handle, class Atom>
  T ask_while(const Handle& whom, Atom atom, const std::function<void()>& poll) {
    caf::scoped_actor self{*system_};
    // A helper asks and passes the answer on, so that waiting can be interrupted.
    system_->spawn(
        [whom, atom, to = caf::actor_cast<caf::actor>(self)](caf::event_based_actor* helper) {
          helper->request(whom, caf::infinite, atom)
              .then([=](T& value) { helper->send(to, std::move(value)); },
                    [=](caf::error& e) { helper->send(to, std::move(e)); });
        });
    std::optional<T> answer;
    std::optional<Error> error;
    while (!answer && !error) {
      self->receive([&](T& value) { answer = std::move(value); },
                    [&](caf::error& e) { error = to_error(e); },
                    caf::after(std::chrono::milliseconds(100)) >> [] {});
      poll();
    }
    if (error) throw error->within(name_of(caf::actor_cast<caf::actor>(whom)));
    return std::move(*answer);
  }

  template <class Handle, class... Args>
  void tell(const Handle& whom, Args... args) {
    caf::anon_send(whom, std::move(args)...);
  }

  /// Ends all actors. Returns, at the latest after the deadline, the names of
  /// those that have not ended. What they still hold is then never freed.
  std::vector<std::string> stop(std::chrono::milliseconds deadline);

 private:
  std::string name_of(const caf::actor& actor) const;

  std::unique_ptr<SystemConfig> config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<std::pair<std::string, caf::actor>> members_;
};

}  // namespace troupe
