#pragma once

#include <caf/meta/type_name.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "troupe/messages/all_reduce.h"

namespace troupe {

/// What compression has left of the gradients of a variable, or of some rows of it: it is owed
/// to a later update.
struct OwedGradient {
  std::string variable;
  std::int64_t first_row = 0;  ///< of a variable that is split over shards
  Tensor values;               ///< with the shape of those rows
};

/// What a replica keeps from one gradient set to the next one. Tensors are shared, and never
/// written again.
struct ReplicaMemory {
  std::uint32_t replica = 0;
  double loss_scale = 0;  ///< 0: of a replica that has computed nothing yet, or scales nothing
  std::uint32_t good_steps = 0;  ///< since that scale was last changed
  std::vector<OwedGradient> owed;
};

/// What a replica will remember, by what becomes of the set that it commits. Where it is neither
/// applied nor skipped, that is what it remembered before.
struct MemoryOfSet {
  std::uint64_t first = 0;  ///< number of the set's first batch, as SettledSet::first
  ReplicaMemory applied;
  ReplicaMemory skipped;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, OwedGradient& x) {
  return f(caf::meta::type_name("OwedGradient"), x.variable, x.first_row, x.values);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, ReplicaMemory& x) {
  return f(caf::meta::type_name("ReplicaMemory"), x.replica, x.loss_scale, x.good_steps, x.owed);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, MemoryOfSet& x) {
  return f(caf::meta::type_name("MemoryOfSet"), x.first, x.applied, x.skipped);
}

/// Remembers for replicas what would be lost with them: a coordinator, which knows what becomes
/// of their sets.
///   (save, replica, memory)           comes before the set that it is about
///   (restore, memories)               what the replicas of the run remembered that is gone on with
///   (restore, replica) -> memory      after what is settled of its sets, or of those of the one
///                                     before it; nothing is in it when nothing is known
using MemoryKeeper =
    caf::typed_actor<caf::reacts_to<save_atom, std::uint32_t, MemoryOfSet>,
                     caf::reacts_to<restore_atom, std::vector<ReplicaMemory>>,
                     caf::replies_to<restore_atom, std::uint32_t>::with<ReplicaMemory>>;

using RememberingCoordinator = SavingCoordinator::extend_with<MemoryKeeper>;

/// A checkpointer, as coordinators see it.
///   (snapshot, version, memories)   go into the checkpoint of that version; come before the rest
///                                   of it
///   (expect, version) -> ok         once a checkpoint of that version, or of a later one, is
///   written
using CheckpointBook =
    caf::typed_actor<caf::reacts_to<snapshot_atom, Version, std::vector<ReplicaMemory>>,
                     caf::replies_to<expect_atom, Version>::with<caf::ok_atom>>;

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_memory, caf::id_block::troupe_reducer::end)

CAF_ADD_TYPE_ID(troupe_memory, (troupe::ReplicaMemory))
CAF_ADD_TYPE_ID(troupe_memory, (std::vector<troupe::ReplicaMemory>))
CAF_ADD_TYPE_ID(troupe_memory, (troupe::MemoryOfSet))

CAF_END_TYPE_ID_BLOCK(troupe_memory)
