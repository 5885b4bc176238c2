#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "troupe/actors/training/conductor.h"

namespace troupe {

/// Replicas that take part, or will again.
std::size_t live_replicas(const ConductorState& state);
/// Replicas that take part and are not about to leave.
std::int64_t staying_replicas(const ConductorState& state);

ConductorState::Member& add_member(ConductorState& state, const std::string& name,
                                   std::uint32_t index, const Replica& handle);
/// Has a member begin, and takes note of its end.
void start_replica(ConductorSelf self, const ConductorOptionsPtr& options, const std::string& name);

/// A member has died: another one takes its place after a while, if the restarts allow it.
void take_loss(ConductorSelf self, const ConductorOptionsPtr& options, const std::string& name,
               const caf::error& reason);
/// It is time for that.
void restart(ConductorSelf self, const ConductorOptionsPtr& options, const std::string& name);
/// What replicas wait for will not come.
void end_replicas(ConductorState& state);

/// One more, by the name that is answered, once it has a shard where it has one of its own. Answers
/// failed_precondition when replicas cannot come and go.
caf::result<std::string> add_replica(ConductorSelf self, const ConductorOptionsPtr& options);
/// That one gets no more batches, or the newest one where the name is empty. Throws not_found, and
/// failed_precondition as above and for the last one that stays.
std::string remove_replica(ConductorSelf self, const ConductorOptionsPtr& options,
                           std::string name);

}  // namespace troupe
