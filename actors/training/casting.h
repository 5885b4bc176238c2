#pragma once

// The actors of a training run, each made from the options, and what a run takes over from a
// checkpoint.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/aggregation/coordinator.h"
#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/checkpointer.h"
#include "troupe/actors/explain/observer.h"
#include "troupe/actors/parameters/parameter_shard.h"
#include "troupe/actors/parameters/shard_keeper.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/actors/training/conductor.h"
#include "troupe/actors/training/publisher.h"
#include "troupe/actors/training/training.h"
#include "troupe/messages/replica_memory.h"

namespace troupe {

constexpr std::chrono::minutes kPatienceAtStart{10};

/// What run() needs while it puts the actors together.
struct Casting {
  Troupe& troupe;
  const TrainingOptions& options;
};

/// What has to be the same for a run to go as another one went; one line.
std::string which_run(Casting c, const Batches& data, const std::string& model, std::int64_t from);

RememberingCoordinator spawn_coordinator(Casting c, std::size_t shards,
                                         const std::vector<std::uint32_t>& group_of_shard,
                                         const std::string& table, const TrainingListener& listener,
                                         const std::string& run, const ObservedCheckpointer& writer,
                                         bool with_data);

std::vector<ShardKeeperOptions::Kept> spawn_shards(
    Casting c, std::vector<std::vector<ShardVariable>> variables,
    const std::vector<std::uint32_t>& group_of_shard, const Coordinator& coordinator,
    const SnapshotSink& sink, const std::vector<StreamedPart>& parts);

ShardKeeper spawn_keeper(Casting c, std::vector<ShardKeeperOptions::Kept> shards,
                         const SnapshotSink& sink, const TrainingListener& listener);

/// Puts a checkpoint into the shards; returns its step.
std::uint64_t restore(Casting c, const std::vector<Shard>& shards,
                      const std::vector<std::uint32_t>& group_of_shard,
                      const Checkpoint& checkpoint);

/// Says what the optimizer keeps for each variable and the checkpoint does not have.
void note_optimizer(Casting c, const Checkpoint& checkpoint, std::vector<std::string>& notes);

/// A pipeline of which this troupe has the end alone.
Batches::Running examples_of(Troupe& troupe, const Queue& examples);

Observer spawn_observer(Casting c, const ShardKeeper& keeper);

/// The weights that the run ends with are published whatever step they are of.
void publish_last(Casting c, const Publisher& publisher);

/// The data as the checkpoint has them, if they are to go on from there. Says when they do not,
/// but with the batch of that number.
std::shared_ptr<const DataState> data_to_resume(Casting c, const Checkpoint& checkpoint,
                                                std::uint64_t otherwise,
                                                std::vector<std::string>& notes);

/// Throws invalid_argument when no value has that name.
BestEvaluation comparison(const EvaluationOptions& o, const std::vector<std::string>& values);

void go_on_comparing(BestEvaluation& best, const Checkpoint& from);

/// What the replicas of the checkpoint remembered, for those of this run. Says what has changed or
/// is not known.
std::vector<ReplicaMemory> memories_of(Casting c, const Checkpoint& checkpoint,
                                       const DataState* data, std::vector<std::string>& notes);

/// What is different, although nothing is lost.
void note_differences(Casting c, const DataState& from, std::int64_t rows, bool split,
                      std::vector<std::string>& notes);

}  // namespace troupe
