#pragma once

#include <caf/actor_clock.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace troupe {

/// How often somebody is started again, and when.
struct RestartOptions {
  int most = 10;                              ///< restarts in any `period`, all children together;
                                              ///< 0 for none at all
  std::chrono::milliseconds period{600'000};  ///< after it a restart is forgotten
  /// Before the first restart of a child; each further one of it within the period waits twice
  /// as long as the one before, up to the longest.
  std::chrono::milliseconds delay{100};
  std::chrono::milliseconds longest_delay{10'000};
  /// A delay is longer by a random share up to this, so that those who fail together do not
  /// come back together.
  double jitter = 0.25;
  std::uint64_t seed = 1;  ///< of the random shares
};

/// Throws invalid_argument naming the option that makes no sense.
void validate(const RestartOptions& options);

/// Counts restarts.
class RestartBudget {
 public:
  using TimePoint = caf::actor_clock::time_point;

  explicit RestartBudget(RestartOptions options) : options_(options) {}

  /// How long to wait before that child is started again; none when there may be no more.
  std::optional<std::chrono::milliseconds> take(const std::string& child, TimePoint now);
  /// How many more there may be.
  int left(TimePoint now) const;
  const RestartOptions& options() const { return options_; }

 private:
  RestartOptions options_;
  std::deque<std::pair<TimePoint, std::string>> taken_;  ///< within the period
  std::uint64_t draws_ = 0;
};

}  // namespace troupe
