#pragma once

#include "troupe/actors/parameters/parameter_shard.h"

namespace troupe {

/// Does what is decided. With clipping, and in an all-reduce, only half of it: it says what its
/// part of the norm is, or what the norm is once it has the sum of the gradients.
void decide(ShardSelf self, const ShardOptions& options, const SnapshotSink& sink,
            RoundDecision& given);
/// The other half: all shards have done the first one.
void apply_scaled(ShardSelf self, const ShardOptions& options, const SnapshotSink& sink,
                  double factor);
/// Not all shards will have the sum. The sets that it was made of are gone.
void cancel(ShardSelf self, std::uint64_t number);
/// Says what there is to say between the two halves.
void tell_norm(ShardSelf self, const ShardOptions& options);

/// Tells the coordinator who the shard is, and how far.
void attach(ShardSelf self, const ShardOptions& options);
/// Goes on from what a checkpoint has of it.
void restore(ShardSelf self, const ShardOptions& options, const ShardSnapshot& snapshot);
ShardSnapshot snapshot_of(const ShardState& state, const ShardOptions& options);

}  // namespace troupe
