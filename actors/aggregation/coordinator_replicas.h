#pragma once

#include "troupe/actors/aggregation/coordinator.h"

namespace troupe {

/// A shard tells that the replica has joined it. The replica is a member once all shards tell so,
/// and once it is settled everywhere what the one before it left behind.
void join(CoordinatorSelf self, const CoordinatorOptions& options, std::uint32_t shard,
          std::uint32_t replica, const Replica& handle);
/// Takes in replicas that had to wait for what the ones before them left behind.
void admit_late(CoordinatorSelf self, const CoordinatorOptions& options);
/// A shard tells that the replica at that address leaves.
void leave(CoordinatorSelf self, const CoordinatorOptions& options, std::uint32_t replica,
           const caf::actor_addr& who);

/// The run stops, and nobody takes the places of replicas that are lost. In a deterministic run no
/// update is made any more without a replica that leaves from now on, or that is lost or has not
/// joined: whoever goes on makes it with all of them.
void stop(CoordinatorSelf self, const CoordinatorOptions& options);

void watch_for_death(CoordinatorSelf self, std::uint32_t replica, const Replica& handle);
/// Somebody that was watched has died.
void take_down(CoordinatorSelf self, const CoordinatorOptions& options, const caf::down_msg& down);

/// A shard tells that it has its part of a set. The set counts once all shards tell so.
void take_report(CoordinatorSelf self, const CoordinatorOptions& options, const SetReport& report);

}  // namespace troupe
