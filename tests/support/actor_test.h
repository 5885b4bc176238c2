#pragma once

#include <gtest/gtest.h>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "troupe/messages/protocol.h"
#include "troupe/messages/system_config.h"

namespace troupe::test {

/// The answer to one request, filled in once it has arrived.
template <class T>
struct Answer {
  std::optional<T> value;
  caf::error fault;
  bool pending() const { return !value && !fault; }
  /// "out of range: ...", or "" when there was no fault.
  std::string words() const { return fault ? render(fault) : std::string(); }
};

/// What a Client is told to do.
using Task = std::function<void(caf::event_based_actor*)>;

}  // namespace troupe::test

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::test::Task)

namespace troupe::test {

/// An actor that does what the test says, always as the same sender.
inline caf::behavior client_behavior(caf::event_based_actor* self) {
  return {[self](const Task& task) { task(self); }};
}

/// Actors on a scheduler that only moves when the test says so: no threads, no
/// sleeps, the same order every time.
class ActorTest : public ::testing::Test {
 protected:
  struct Config : SystemConfig {
    Config() { set("scheduler.policy", caf::atom("testing")); }
  };

  /// Ends every actor of the test: one that waits for a timer, or holds itself
  /// through a promise, would keep the actor system from ending.
  ~ActorTest() override {
    settle();
    for (const auto& actor : spawned_) caf::anon_send_exit(actor, caf::exit_reason::kill);
    settle();
  }

  template <class... Args>
  auto spawn(Args&&... args) {
    auto actor = system.spawn(std::forward<Args>(args)...);
    spawned_.push_back(caf::actor_cast<caf::actor>(actor));
    settle();
    return actor;
  }

  /// Sends a request and lets every actor run until all of them wait. Asking
  /// again from the same `sender` keeps its identity.
  template <class T, class Handle, class... Args>
  std::shared_ptr<Answer<T>> ask(const Handle& whom, Args... args) {
    auto answer = std::make_shared<Answer<T>>();
    system.spawn([=](caf::event_based_actor* self) {
      self->request(whom, caf::infinite, args...)
          .then([answer](const T& value) { answer->value = value; },
                [answer](const caf::error& fault) { answer->fault = fault; });
    });
    settle();
    return answer;
  }

  caf::actor client() { return spawn(client_behavior); }

  /// The same from a client(), whose identity the receiver may remember.
  template <class T, class Handle, class... Args>
  std::shared_ptr<Answer<T>> ask_as(const caf::actor& sender, const Handle& whom, Args... args) {
    auto answer = std::make_shared<Answer<T>>();
    caf::anon_send(sender, Task([=](caf::event_based_actor* self) {
                     self->request(whom, caf::infinite, args...)
                         .then([answer](const T& value) { answer->value = value; },
                               [answer](const caf::error& fault) { answer->fault = fault; });
                   }));
    settle();
    return answer;
  }
  template <class Handle, class... Args>
  void send_as(const caf::actor& sender, const Handle& whom, Args... args) {
    caf::anon_send(sender, Task([=](caf::event_based_actor* self) { self->send(whom, args...); }));
    settle();
  }
  void kill(const caf::actor& actor) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
    settle();
  }

  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }
  void settle() { scheduler().run(); }
  /// Moves the clock of the actor system; timers that are due fire.
  void advance(caf::timespan time) {
    scheduler().advance_time(time);
    settle();
  }

  Config config;
  caf::actor_system system{config};

 private:
  std::vector<caf::actor> spawned_;
};

}  // namespace troupe::test
