#pragma once

#include "troupe/actors/training/replica.h"

namespace troupe {

/// Has the device compute the batch in hand. Before that it finds out which rows of tables the
/// batch reads, computing their numbers when they are no component of it, and pulls them.
void compute_batch(ReplicaSelf self, const ReplicaOptionsPtr& options);
/// Asks the shard for the rows of the batch in hand that it has.
void pull_from(ReplicaSelf self, const ReplicaOptionsPtr& options, std::size_t shard);

}  // namespace troupe
