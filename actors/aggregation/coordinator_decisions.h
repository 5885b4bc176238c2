#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/actors/aggregation/coordinator.h"

namespace troupe {

/// Decides all that can be decided now, for all groups of variables, and has the clock running for
/// whom others wait for then. A user's policy may throw: then the coordinator ends.
void decide(CoordinatorSelf self, const CoordinatorOptions& options);

/// Something on which the course of the run depends: the work is done when it is its turn, and
/// after it all is decided that can be.
void happen(CoordinatorSelf self, const CoordinatorOptions& options, const RecordedEvent& event,
            const std::function<void()>& work);

/// The shard has carried out all decisions of its group up to that number.
void note_carried_out(CoordinatorState& state, const CoordinatorOptions& options,
                      std::uint32_t shard, std::uint64_t decisions);

/// A shard has told what its part of the norm is, squared, of the update of that decision. With
/// those of all shards the update can be made.
void take_norm(CoordinatorSelf self, const CoordinatorOptions& options, std::uint32_t shard,
               std::uint64_t number, double sum);

/// A deadline may be over: of the start, or of a replica that keeps others waiting.
void look_at_clock(CoordinatorSelf self, const CoordinatorOptions& options);

/// Whoever hands out batches hears which sets are settled.
void tell_settled(CoordinatorSelf self, std::vector<SettledSet> sets);

/// The listener hears of that, with the run's version.
void tell(CoordinatorSelf self, const CoordinatorOptions& options, std::string message);

}  // namespace troupe
