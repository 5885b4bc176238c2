#pragma once

#include <string>
#include <vector>

#include "troupe/actors/parameters/parameter_store.h"
#include "troupe/messages/all_reduce.h"

namespace troupe {

/// One thing that every replica pushes in every set, as all of them list it.
struct ReducedPart {
  std::string variable;
  PartKind kind = PartKind::gradient;
};

/// What a shard brings to an all-reduce for the gradients of its own replica. `share` is
/// that of the replica in the update: 0 when it has no part in it, and then `own` is not
/// looked at. Throws invalid_argument for a variable that the store does not have.
Reduction reduction_of(const CombinedGradients& own, double share,
                       const std::vector<ReducedPart>& parts, const ParameterStore& store);

/// The gradients of all replicas together. Throws invalid_argument when it is no reduction
/// of those parts.
CombinedGradients gradients_of(const Reduction& all, const std::vector<ReducedPart>& parts,
                               const ParameterStore& store, std::uint64_t updates);

}  // namespace troupe
