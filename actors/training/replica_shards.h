#pragma once

#include "troupe/actors/training/replica.h"

namespace troupe {

/// Joins the shards, once somebody who keeps them knows of it.
void find_shards(ReplicaSelf self, const ReplicaOptionsPtr& options);
/// Sends the part of a set to the shard that has the variable, or to each that has rows of it.
void send_part(ReplicaSelf self, const ReplicaOptionsPtr& options, GradientPart part);
/// Commits the set in hand to all shards; their answers end it.
void commit(ReplicaSelf self, const ReplicaOptionsPtr& options, bool given_up);
/// Puts variables together that have come from several shards.
void join_pieces(ReplicaState& state, const ReplicaOptions& options);

/// Another actor is that shard: it is told again what the one before it has not answered.
void redirect(ReplicaSelf self, const ReplicaOptionsPtr& options, std::size_t shard,
              const Shard& handle);
/// A shard that has ended is no failure when its copy takes its place: that will be told.
void abort_unless_replaced(ReplicaSelf self, const ReplicaOptionsPtr& options,
                           const caf::error& error);

}  // namespace troupe
