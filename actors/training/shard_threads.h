#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/parameters/parameter_store.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/parallel.h"

namespace troupe {

/// The threads that the shards of a run share for updates of large variables: while an update
/// is made, those who compute gradients wait for it. As many as actors or ops have, whichever
/// are more; none, so that each shard uses its own thread, when no variable is large.
std::shared_ptr<IntraOp> shard_threads(const std::vector<std::vector<ShardVariable>>& shards,
                                       ThreadBudget budget);

}  // namespace troupe
