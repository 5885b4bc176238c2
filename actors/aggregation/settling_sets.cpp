#include "troupe/actors/aggregation/settling_sets.h"

#include "troupe/ops/error.h"

namespace troupe {

std::vector<SettledSet> SettlingSets::add(const std::vector<SettledSet>& sets, std::size_t groups) {
  if (groups == 1) return sets;
  std::vector<SettledSet> everywhere;
  for (const auto& set : sets) {
    const std::pair key(set.replica, set.first);
    auto& settling = settling_[key];
    if (settling.groups > 0 && settling.set.fate != set.fate)
      fail(Code::internal, "groups of variables do not agree on a set of replica ", set.replica);
    settling.set = set;
    if (++settling.groups < groups) continue;
    everywhere.push_back(set);
    settling_.erase(key);
  }
  return everywhere;
}

bool SettlingSets::has(std::uint32_t replica) const {
  const auto first = settling_.lower_bound({replica, 0});
  return first != settling_.end() && first->first.first == replica;
}

}  // namespace troupe
