// As snippets_test.cpp, for the pages about parameters and embeddings.

#include "troupe/actors/training/training.h"
#include "troupe/ops/array.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

// clang-format off
namespace {

using namespace troupe;

constexpr std::int64_t kIds = 1'000'000;
constexpr std::int64_t kWidth = 16;

[[maybe_unused]] void parameters() {
TrainingOptions options;
options.shards = 4;
options.placement = VariablePlacement::round_robin;
options.max_shard_bytes = 64 << 20;  // what has more is cut by rows
options.tables.from_bytes = 16 << 20;
options.backup_shards = 1;

options.placement = VariablePlacement([](const Variable& variable, std::uint32_t shards) {
  return variable.name().rfind("embedding", 0) == 0 ? 0 : 1 % shards;
});

options.optimizer = optim::adam(0.9, 0.999, 1e-8, true);  // lazy: rows without a gradient rest
options.max_shard_bytes = 32 << 20;  // the table has 64 MB: half of it in each shard
}

[[maybe_unused]] Output embedding(Model& m, Output ids, Output values) {
const auto table = variable(*m.graph, "embedding", {kIds, kWidth}, init::normal(0, 0.1));
const auto rows = gather(table, ids) * expand_dims(values, -1);
const auto logits = reshape(nn::dense(reduce_sum(rows, {1}), 1, {.name = "out"}), {-1});
return logits;
}

}  // namespace
