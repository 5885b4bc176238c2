#pragma once

#include <optional>

#include "troupe/actors/parameters/parameter_shard.h"

namespace troupe {

/// A part of a set. It is looked at when it comes, while its replica still computes the others:
/// when the set is whole, the replica waits.
void push(ShardState& state, const ShardOptions& options, GradientPart& part);
/// Whether the set has the part already: the shard before this one may have had it.
bool is_repeated(const ShardState& state, const GradientPart& part);

/// The set is whole: the coordinator hears of it, and the replica is answered when that decides.
caf::result<ApplyResult> commit(ShardSelf self, const ShardOptions& options,
                                const GradientCommit& request);
/// What a copy does of it. False when the commit is one that was answered before.
bool note_commit(ShardSelf self, const ShardOptions& options, const GradientCommit& request,
                 const caf::actor_addr& sender);

/// Whoever asks is the replica of that number now, once the coordinator says so.
caf::result<ApplyResult> join(ShardSelf self, const ShardOptions& options, std::uint32_t replica);
/// What a copy does of it. False when the replica is here already and has been let go on.
bool note_join(ShardState& state, std::uint32_t replica, const caf::actor_addr& sender);

/// The coordinator hears that the replica leaves.
void leave(ShardSelf self, const ShardOptions& options, std::uint32_t replica);

/// Looks at all sets, and reports those that are whole: the shard before this one may not have.
void report_sets(ShardSelf self, const ShardOptions& options);

/// Takes a set out for good; empty when it is not here.
std::optional<ShardState::Set> take_set(ShardState& state, std::uint32_t replica,
                                        std::uint64_t step);
/// A set is no part of an update.
void refuse(ShardState& state, const Refusal& refusal);
/// A replica that waits for what becomes of its set is told that this has failed.
void fail_commit(ShardState& state, std::uint32_t replica, const caf::error& why);
/// Forgets the replica, but for whole sets on which nothing is decided.
void depart(ShardState& state, std::uint32_t replica);
/// Answers the replica that waits, with the parameters of now.
void release(ShardState& state, std::uint32_t replica);

}  // namespace troupe
