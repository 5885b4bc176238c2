#pragma once

#include <gtest/gtest.h>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <memory>
#include <optional>

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

/// Actors on a scheduler that only moves when the test says so: no threads, no
/// sleeps, the same order every time.
class ActorTest : public ::testing::Test {
 protected:
  struct Config : SystemConfig {
    Config() { set("scheduler.policy", caf::atom("testing")); }
  };

  ~ActorTest() override { settle(); }

  template <class... Args>
  auto spawn(Args&&... args) {
    auto actor = system.spawn(std::forward<Args>(args)...);
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
};

}  // namespace troupe::test
