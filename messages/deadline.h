#pragma once

#include <chrono>
#include <optional>

#include "troupe/messages/payloads.h"

namespace troupe {

/// When a request runs out that came at `now`; never for a negative timeout (kForever), and
/// for one that no clock will see the end of.
inline std::optional<std::chrono::steady_clock::time_point> deadline_after(
    std::chrono::steady_clock::time_point now, Timeout timeout) {
  constexpr auto kNever = std::chrono::hours(24 * 365 * 100);
  if (timeout < Timeout::zero() || timeout > kNever) return std::nullopt;
  return now + timeout;
}

}  // namespace troupe
