#pragma once

// Where an ensemble that is trained goes on: members share one stream of batches, and each has a
// checkpoint of its own, which stands at a batch of its own.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/training/training.h"
#include "troupe/messages/data_state.h"

namespace troupe {

/// A member as it is about to begin, with all its options.
struct StartingMember {
  std::string name;
  TrainingOptions* options;
};

/// Where the stream begins, and its members.
struct EnsembleStart {
  std::uint64_t seed = 0;                        ///< of the pipeline
  std::uint64_t begins = 0;                      ///< the number of its first batch
  std::shared_ptr<const PipelineSnapshot> from;  ///< none: the beginning of the data
  /// Members without a position of their own pass over what is before these batches; by member.
  std::vector<std::uint64_t> first_batches;
  /// By member, what people should know of where it begins; "" for nothing.
  std::vector<std::string> notes;
};

/// The stream begins where the member stands that is farthest behind and has steps left to do;
/// those that stand farther on pass over what they have had, by the numbers of the batches.
///
/// With `lenient`, CheckpointOptions::resume of a member whose directory has no checkpoint is
/// taken back, if another member has one. Such a member begins with the batch that its directory
/// names (note_first_batch), or else with the first one that nobody has had.
///
/// Throws as a Training that is resumed does, naming the member, and failed_precondition when
/// the members' checkpoints do not belong to one stream of batches.
EnsembleStart ensemble_start(const std::vector<StartingMember>& members, const Batches& data,
                             std::uint64_t seed, bool lenient);

/// Puts down, in the directory of a member's checkpoints, with which batch it begins: for a
/// resume before it has a checkpoint.
void note_first_batch(const std::string& directory, std::uint64_t number);

}  // namespace troupe
