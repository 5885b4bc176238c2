#pragma once

#include "troupe/messages/data_state.h"

namespace troupe {

/// One stream of batches for several branches, each of which gets every batch.
///   (join, branch)  -> number of the first batch that it gets, which nobody has had yet; it gets
///                             all after it, too. already_exists for one that is a branch
///   (next)          -> batch  the next one of the sender, which must be a branch; out_of_range
///                             or the failure when the stream has ended
///   (leave, branch)           one way: it gets no more, and nobody waits for it. So does its
///                             death
///   (status)        -> status records are examples that have come, each counted once
///   (snapshot)      -> snapshot of the pipeline, with the batches that the sender, which must be
///                             a branch, has not had; it may leave meanwhile. failed_precondition
///                             when nobody keeps the pipeline
using Broadcast = caf::typed_actor<caf::replies_to<join_atom, caf::actor>::with<std::uint64_t>,
                                   caf::replies_to<next_atom>::with<Batch>,
                                   caf::reacts_to<leave_atom, caf::actor>,
                                   caf::replies_to<status_atom>::with<StageStatus>,
                                   caf::replies_to<snapshot_atom>::with<PipelineSnapshot>>;

/// One branch of it, for those who take batches out of a queue and keep what it has.
///   (snapshot) -> snapshot  with the batches that have not left the branch. Once it is closed, as
///                           things were then
using Branch = Queue::extend_with<PipelineKeeper>;

}  // namespace troupe
