#pragma once

#include <string>

#include "troupe/messages/payloads.h"

namespace troupe {

/// How the updates of a run were put together, in a few lines for people: the policy, how
/// stale gradients were, and whose sets were refused or left out. Empty when there is
/// nothing to tell: one replica, of which everything was applied.
std::string aggregation_summary(const AggregationStatus& status);

}  // namespace troupe
