#pragma once

#include "troupe/messages/protocol.h"

namespace troupe {

/// One stream of batches for several branches, each of which gets every batch.
///   (join, branch)  -> ok     it gets the batches that nobody has had yet, and all after them;
///                             already_exists for one that is a branch
///   (next)          -> batch  the next one of the sender, which must be a branch; out_of_range
///                             or the failure when the stream has ended
///   (leave, branch)           one way: it gets no more, and nobody waits for it. So does its
///                             death
///   (status)        -> status records are examples that have come, each counted once
using Broadcast = caf::typed_actor<caf::replies_to<join_atom, caf::actor>::with<caf::ok_atom>,
                                   caf::replies_to<next_atom>::with<Batch>,
                                   caf::reacts_to<leave_atom, caf::actor>,
                                   caf::replies_to<status_atom>::with<StageStatus>>;

}  // namespace troupe
