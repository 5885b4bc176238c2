#pragma once

#include <atomic>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/topology/topology.h"
#include "troupe/messages/fault.h"
#include "troupe/messages/system_config.h"
#include "troupe/queues/shared_queues.h"

namespace troupe {

/// A set of actors with names, on threads of their own, that is started and
/// stopped as one. Not for use by several threads, but for stop(), members(), ask(), tell(),
/// spawn(), replace(), retire() and forget().
class Troupe {
 public:
  explicit Troupe(ThreadBudget budget);
  /// On the threads of another one, which must outlive it. Guests may be used by one thread
  /// each at the same time.
  explicit Troupe(Troupe& host);
  ~Troupe();
  Troupe(const Troupe&) = delete;
  Troupe& operator=(const Troupe&) = delete;

  caf::actor_system& system() { return *system_; }

  /// The queues that several topologies in this troupe find by name. Any thread may ask.
  SharedQueues& shared() { return *shared_; }

  /// Spawns an actor and gives it a name, for messages about it; the thread of a
  /// detached one is called like it.
  template <caf::spawn_options kOptions = caf::no_spawn_options, class Fn, class... Args>
  auto spawn(const std::string& name, Fn fn, Args&&... args) {
    if constexpr (caf::has_detach_flag(kOptions)) {
      return added(name,
                   system_->spawn<kOptions>(on_thread(name, fn), std::forward<Args>(args)...));
    } else {
      return added(name, system_->spawn<kOptions>(fn, std::forward<Args>(args)...));
    }
  }
  /// One that comes when all are being stopped is ended at once.
  void add(const std::string& name, caf::actor actor);
  /// The same for one that takes the place of a member of that name, if there is one.
  void replace(const std::string& name, caf::actor actor);
  std::vector<std::pair<std::string, caf::actor>> members() const;

  /// Ends an actor before the others; stop() does not wait for it any more. Not for
  /// one that is observed.
  void dismiss(const caf::actor& member);

  /// One that has nothing to do any more: stop() ends it, but members() does not list it.
  void retire(const caf::actor& member);

  /// One that has ended by itself is not a member any more.
  void forget(const caf::actor& member);

  /// Makes a member, which answers (status), one of those that are observed.
  template <class Handle>
  void observe(const Handle& member, Role role) {
    observe_actor(caf::actor_cast<caf::actor>(member), role);
  }
  /// Says that data go from one observed member to the other.
  template <class From, class To>
  void link(const From& from, const To& to) {
    link_actors(caf::actor_cast<caf::actor>(from), caf::actor_cast<caf::actor>(to));
  }
  const Topology& topology() const { return topology_; }
  /// The actors of the topology's nodes, in their order.
  const std::vector<caf::actor>& observed() const { return observed_; }

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

  /// The same without a time limit; calls `poll` several times a second while it waits. Throws
  /// unavailable, naming the actor, when it ends without an answer.
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
    self->monitor(whom);  // whoever dies with the question in hand does not answer it
    std::optional<T> answer;
    std::optional<Error> error;
    std::optional<Error> end;
    while (!answer && !error) {
      // An answer that it gave before its end may still be on its way.
      self->receive([&](T& value) { answer = std::move(value); },
                    [&](caf::error& e) { error = to_error(e); },
                    [&](const caf::down_msg& down) { end = to_error(down.reason); },
                    caf::after(std::chrono::milliseconds(100)) >> [&] { error = end; });
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
  template <class Result, class... Args>
  static auto on_thread(const std::string& name, Result (*fn)(Args...)) {
    return [name, fn](Args... args) -> Result {
      name_this_thread(name);
      return fn(std::forward<Args>(args)...);
    };
  }
  template <class Handle>
  Handle added(const std::string& name, Handle actor) {
    add(name, caf::actor_cast<caf::actor>(actor));
    return actor;
  }
  static void name_this_thread(const std::string& name);

  std::string name_of(const caf::actor& actor) const;
  void observe_actor(const caf::actor& actor, Role role);
  void link_actors(const caf::actor& from, const caf::actor& to);
  std::size_t node_of(const caf::actor& actor) const;

  Troupe* host_ = nullptr;
  std::unique_ptr<SystemConfig> config_;
  std::unique_ptr<caf::actor_system> own_system_;
  caf::actor_system* system_ = nullptr;
  std::atomic<bool> left_behind_{false};  // a guest could not end all of its actors
  std::unique_ptr<SharedQueues> shared_;
  mutable std::mutex mutex_;  ///< of the next three
  std::vector<std::pair<std::string, caf::actor>> members_;
  std::vector<std::pair<std::string, caf::actor>> retired_;
  bool stopping_ = false;
  Topology topology_;
  std::vector<caf::actor> observed_;
};

}  // namespace troupe
