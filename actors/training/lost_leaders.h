#pragma once

#include "troupe/actors/explain/observer.h"
#include "troupe/actors/training/casting.h"

namespace troupe {

/// The conductor has ended for that reason: nobody leads the replicas, which are ended, too.
TrainingOutcome outcome_without_conductor(Casting casting, const Error& why);

/// What the observer has seen; none, and an event says why, when it has ended before.
ObservationsPtr last_observations(Casting casting, const Observer& observer);

}  // namespace troupe
