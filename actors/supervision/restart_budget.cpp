#include "troupe/actors/supervision/restart_budget.h"

#include <algorithm>

#include "troupe/ops/error.h"
#include "troupe/ops/random.h"

namespace troupe {

void validate(const RestartOptions& o) {
  if (o.most < 0) fail(Code::invalid_argument, "restarts.most must be at least 0, but is ", o.most);
  if (o.most > 0 && o.period.count() < 1)
    fail(Code::invalid_argument, "restarts.period must be at least 1 ms, but is ", o.period.count(),
         " ms");
  if (o.delay.count() < 0 || o.longest_delay < o.delay)
    fail(Code::invalid_argument, "restarts.delay must be from 0 to restarts.longest_delay, but ",
         o.delay.count(), " ms and ", o.longest_delay.count(), " ms were given");
  if (!(o.jitter >= 0 && o.jitter <= 1))
    fail(Code::invalid_argument, "restarts.jitter must be in [0, 1], but is ", o.jitter);
}

std::optional<std::chrono::milliseconds> RestartBudget::take(const std::string& child,
                                                             TimePoint now) {
  while (!taken_.empty() && taken_.front().first + options_.period <= now) taken_.pop_front();
  if (static_cast<int>(taken_.size()) >= options_.most) return std::nullopt;
  const auto before = std::count_if(taken_.begin(), taken_.end(),
                                    [&](const auto& one) { return one.second == child; });
  auto delay = options_.delay;
  for (std::ptrdiff_t i = 0; i < before && delay < options_.longest_delay; ++i) delay *= 2;
  delay = std::min(delay, options_.longest_delay);
  constexpr double kSteps = 1024;
  const auto drawn = static_cast<double>(mix(options_.seed ^ mix(++draws_)) % 1024) / kSteps;
  delay += std::chrono::milliseconds(
      static_cast<std::int64_t>(static_cast<double>(delay.count()) * options_.jitter * drawn));
  taken_.emplace_back(now, child);
  return delay;
}

int RestartBudget::left(TimePoint now) const {
  const auto recent = std::count_if(taken_.begin(), taken_.end(), [&](const auto& one) {
    return one.first + options_.period > now;
  });
  return std::max(0, options_.most - static_cast<int>(recent));
}

}  // namespace troupe
