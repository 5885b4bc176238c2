#pragma once

#include <caf/typed_response_promise.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/checkpoint_writer.h"
#include "troupe/messages/data_state.h"
#include "troupe/messages/replica_memory.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

/// A Checkpointer that says how it is doing.
///   (status) -> status   records are checkpoints, bytes those of their tensors; busy is writing
using ObservedCheckpointer = DataCheckpointer::extend<
    caf::replies_to<status_atom>::with<StageStatus>>::extend_with<CheckpointBook>;

struct CheckpointerOptions {
  std::shared_ptr<CheckpointWriter> writer;
  std::shared_ptr<CheckpointWriter> best;  ///< of the weights that evaluations found best
  std::vector<std::string> values;         ///< names of an evaluation's values
  std::uint32_t shards = 1;
  std::map<std::string, std::string> state;  ///< goes into every manifest
  /// A DataState comes for each version that the shards send; a checkpoint waits for it.
  bool with_data = false;
  TrainingListener listener;  ///< hears of each checkpoint; may be none
};

struct CheckpointerState {
  static constexpr const char* name = "troupe.checkpointer";
  struct Incomplete {
    std::vector<ShardSnapshot> shards;
    std::optional<DataState> data;
    std::vector<ReplicaMemory> memories;
  };
  std::map<Version, Incomplete> incomplete;
  std::optional<SavedCheckpoint> last;
  std::map<std::string, std::string> told;  ///< goes into every manifest, too
  /// Of those who wait for a version to be written.
  std::multimap<Version, caf::typed_response_promise<caf::ok_atom>> expected;
  StageClock clock;
};

/// Writes snapshots of shards to disk; spawn it detached, for it blocks on files.
/// Snapshots of one version, and the data as they stood then, are one checkpoint. In asynchronous
/// training the shards' versions differ: what (save) is given together is written together, under
/// the highest of them. What has been written already is not written again. A disk that refuses
/// ends the actor with the reason.
ObservedCheckpointer::behavior_type checkpointer(
    ObservedCheckpointer::stateful_pointer<CheckpointerState> self, CheckpointerOptions options);

/// What a checkpoint says a shard has: the tensors of all shards together, as
/// restore wants them. Throws as Checkpoint::read_all().
ShardSnapshot read_snapshot(const Checkpoint& checkpoint);

/// How many updates variables with a policy of their own have had (ShardSnapshot::group); its
/// step, if they had none. Throws data_loss.
Version own_version(const Checkpoint& checkpoint, const std::string& group);

}  // namespace troupe
