#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "troupe/messages/payloads.h"

namespace troupe {

/// Gradient sets on which some groups of variables have decided, and others have not.
class SettlingSets {
 public:
  /// One of so many groups has decided on these sets: those on which all have now. Throws internal
  /// when the groups do not agree on one.
  std::vector<SettledSet> add(const std::vector<SettledSet>& sets, std::size_t groups);
  bool empty() const { return settling_.empty(); }
  /// A set of that replica is part of some variables, and will be of all.
  bool has(std::uint32_t replica) const;

 private:
  struct Settling {
    SettledSet set;
    std::size_t groups = 0;  // that have decided
  };
  std::map<std::pair<std::uint32_t, std::uint64_t>, Settling> settling_;  // by replica and batch
};

}  // namespace troupe
