#include "troupe/actors/aggregation/decision_log.h"

#include <algorithm>

namespace troupe {

void DecisionLog::add(RoundDecision& decision) {
  decision.number = ++number_;
  entries_.push_back({decision, std::nullopt});
}

void DecisionLog::carried_out(std::uint32_t shard, std::uint64_t number, std::size_t shards) {
  auto& known = carried_out_[shard];
  known = std::max(known, number);
  if (carried_out_.size() < shards) return;
  auto everywhere = known;
  for (const auto& [index, last] : carried_out_) everywhere = std::min(everywhere, last);
  while (!entries_.empty() && entries_.front().decision.number <= everywhere) entries_.pop_front();
}

}  // namespace troupe
