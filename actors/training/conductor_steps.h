#pragma once

#include "troupe/actors/training/conductor.h"

namespace troupe {

/// A replica has made its part of a step. The step is complete when all have.
void take_report(ConductorSelf self, const ConductorOptionsPtr& options, const StepReport& report);
/// Sums up the oldest step of which there are reports.
void complete_first_step(ConductorSelf self, const ConductorOptionsPtr& options);

}  // namespace troupe
