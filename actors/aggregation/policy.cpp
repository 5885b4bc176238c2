#include "troupe/actors/aggregation/policy.h"

#include <algorithm>

#include "troupe/actors/aggregation/weighted_sum.h"

namespace troupe {

std::size_t RoundView::live() const {
  return static_cast<std::size_t>(
      std::count_if(members.begin(), members.end(), [](const auto& m) { return !m.late; }));
}

std::uint64_t RoundView::slowest(std::uint64_t fallback) const {
  std::optional<std::uint64_t> least;
  for (const auto& m : members)
    if (!m.late) least = std::min(least.value_or(m.clock), m.clock);
  return least.value_or(fallback);
}

bool RoundView::has_set(std::uint32_t replica) const {
  return std::any_of(sets.begin(), sets.end(), [&](const auto& s) { return s.replica == replica; });
}

Admission AggregationPolicy::admit(const SetInfo&, const RoundView&) const { return {}; }

bool AggregationPolicy::may_go_on(const MemberInfo& member, const RoundView& view) const {
  return !view.has_set(member.replica);
}

Tensor AggregationPolicy::reduce(const TensorList& gradients, const std::vector<double>& shares,
                                 IntraOp& intra) const {
  return weighted_sum(gradients, shares, intra);
}

}  // namespace troupe
