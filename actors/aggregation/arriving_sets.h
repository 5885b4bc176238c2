#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "troupe/messages/payloads.h"

namespace troupe {

/// Gradient sets of which some shards have their part, and others have not.
class ArrivingSets {
 public:
  /// One that all shards have.
  struct Whole {
    SetReport worst;  ///< the report that complains, of the first shard that does; else of any
    /// Of the parameters that it was computed from, by group of variables.
    std::map<std::uint32_t, Version> versions;
  };

  /// A shard of that group of variables has its part: the set, once each of `shards` has told so.
  /// What is told of a set that was whole before is nothing new.
  std::optional<Whole> add(const SetReport& report, std::uint32_t group, std::size_t shards);
  /// What has not come everywhere from the replica will not come any more: it is that of these
  /// commits. Another one of its number counts its steps anew.
  std::vector<GradientCommit> forget(std::uint32_t replica);

 private:
  struct Arriving {
    std::set<std::uint32_t> shards;  // that have their part
    Whole set;
  };
  std::map<std::pair<std::uint32_t, std::uint64_t>, Arriving> arriving_;  // by replica and step
  std::map<std::uint32_t, std::uint64_t> whole_;  // the last step of which all shards had the set
};

}  // namespace troupe
