#pragma once

#include <caf/actor_addr.hpp>
#include <caf/error.hpp>
#include <caf/scheduled_actor.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <set>

namespace troupe {

/// What an actor does that keeps requests waiting: it hears when one of its clients
/// ends, and wakes when the time of a request has run out.
class ClientWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit ClientWatch(caf::scheduled_actor* self) : self_(self) {}

  /// `lost` is told about each client that ends, `expire` is called when a time has come.
  void begin(std::function<void(const caf::actor_addr&, const caf::error&)> lost,
             std::function<void()> expire);

  void watch(const caf::strong_actor_ptr& client);
  /// The next time at which somebody's patience ends; nothing when nobody's does.
  void wake_at(std::optional<TimePoint> next);

 private:
  caf::scheduled_actor* self_;
  std::set<caf::actor_addr> watched_;
  std::optional<TimePoint> timer_;  // of the message that will wake us
};

}  // namespace troupe
