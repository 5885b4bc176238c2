#pragma once

#include <cstdint>
#include <functional>

#include "troupe/actors/training/conductor.h"

namespace troupe {

/// Has the evaluation made that falls due at that step, now or after the one that is being made. It
/// may be what ends the run.
void evaluate(ConductorSelf self, const ConductorOptionsPtr& options, std::uint64_t step);
/// Takes a result in, and goes on once everything that it brings about is done.
void take_evaluation(ConductorSelf self, const ConductorOptionsPtr& options,
                     const EvaluationResult& result, const std::function<void()>& then);

}  // namespace troupe
