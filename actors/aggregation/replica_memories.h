#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "troupe/messages/payloads.h"
#include "troupe/messages/replica_memory.h"

namespace troupe {

/// What all replicas remember, as of the sets on which is decided: of a coordinator, without the
/// actor.
class ReplicaMemories {
 public:
  /// What the replica says of the set that it is about to commit. It has one at a time.
  void expect(std::uint32_t replica, const MemoryOfSet& set) { expected_[replica] = set; }
  void settle(const SettledSet& set);

  /// Of that replica; nothing is in it when nothing is known.
  ReplicaMemory of(std::uint32_t replica) const;
  std::vector<ReplicaMemory> all() const;
  void restore(const std::vector<ReplicaMemory>& memories);

 private:
  std::map<std::uint32_t, ReplicaMemory> memories_;
  std::map<std::uint32_t, MemoryOfSet> expected_;
};

/// The memories of a run for one of `replicas` replicas. What the gradients of others still owe
/// is added to that of those; then all of it is multiplied by `factor`, for replicas whose part
/// in an update is not what it was.
std::vector<ReplicaMemory> dealt_out(const std::vector<ReplicaMemory>& memories,
                                     std::uint32_t replicas, double factor);

/// With each variable in one piece. Throws data_loss for rows that are missing or of other types.
std::vector<OwedGradient> in_one_piece(std::vector<OwedGradient> owed);

}  // namespace troupe
