#pragma once

#include <functional>
#include <memory>

#include "troupe/actors/aggregation/coordinator.h"

namespace troupe {

using CoordinatorOptionsPtr = std::shared_ptr<const CoordinatorOptions>;
using CoordinatorWork = std::function<void(const CoordinatorOptions&)>;

/// Something on which updates may follow: does the work now, or, in the order in which it came,
/// when nothing that is under way can be taken back any more and there is room for more
/// checkpoints.
void when_free(CoordinatorSelf self, const CoordinatorOptionsPtr& options, CoordinatorWork work);
/// The same for what the actor says that is the shard of that number. When another one has taken
/// its place meanwhile, nobody has what it speaks of.
void when_free(CoordinatorSelf self, const CoordinatorOptionsPtr& options, std::uint32_t shard,
               CoordinatorWork work);
/// Does what has waited, as far as it need not wait any more.
void catch_up(CoordinatorSelf self, const CoordinatorOptions& options);

/// A shard of an all-reduce is lost: an update that not all have the sum of is taken back, and
/// nothing is decided any more. Answers when all that are left have taken it back, too.
caf::result<caf::ok_atom> halt(CoordinatorSelf self, const CoordinatorOptions& options,
                               std::uint32_t shard);
/// Goes on when somebody has attached for each that was lost.
void go_on_if_whole(CoordinatorSelf self, const CoordinatorOptions& options);

}  // namespace troupe
