#pragma once

#include <functional>
#include <vector>

#include "troupe/actors/parameters/parameter_shard.h"

namespace troupe {

/// Has the copies of a shard do what it is about to do: `fill` says what that is, if there are any.
void tell_copies(ShardSelf self, ShardEntryKind kind, const std::function<void(ShardEntry&)>& fill);
/// A copy does what its shard has done.
void follow(ShardSelf self, const ShardOptions& options, ShardEntry& entry);

/// These are its copies now. Those that are new are told all that there is. Between two halves of
/// a decision there is more than can be told: they are told after it.
void mirror(ShardSelf self, const ShardOptions& options, const std::vector<ShardMirror>& mirrors);
ShardCopy copy_of(const ShardState& state, const ShardOptions& options);
void become(ShardState& state, const ShardCopy& copy);

/// A copy takes the place of the shard: it says what that may not have said any more. Ends with
/// data_loss when it has not been told what that had.
void promote(ShardSelf self, const ShardOptions& options, const SnapshotSink& sink);

}  // namespace troupe
