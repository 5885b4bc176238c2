#include "troupe/actors/training/shard_threads.h"

#include <algorithm>

#include "troupe/devices/intra_op_pool.h"

namespace troupe {

std::shared_ptr<IntraOp> shard_threads(const std::vector<std::vector<ShardVariable>>& shards,
                                       ThreadBudget budget) {
  constexpr std::size_t kLarge = std::size_t{1} << 19;  // bytes; below, it would stay on one thread
  const auto is_large = [](const ShardVariable& variable) {
    return (variable.table ? variable.table->byte_size() : variable.initial.byte_size()) >= kLarge;
  };
  const bool any = std::any_of(shards.begin(), shards.end(), [&](const auto& variables) {
    return std::any_of(variables.begin(), variables.end(), is_large);
  });
  const auto resolved = budget.resolved();
  const auto threads = std::max(resolved.inter_op, resolved.intra_op);
  if (!any || threads < 2) return nullptr;
  return std::make_shared<IntraOpPool>("shards", threads);
}

}  // namespace troupe
