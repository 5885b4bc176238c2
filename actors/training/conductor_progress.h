#pragma once

#include <string>

#include "troupe/actors/training/conductor.h"

namespace troupe {

/// Tells how the run stands, again and again while it goes on.
void tick(ConductorSelf self, const ConductorOptionsPtr& options);
/// Tells it now; `last` when the run has ended.
void tell_progress(ConductorSelf self, const ConductorOptionsPtr& options, bool last);
/// Others hear of that event, with the step.
void tell(ConductorSelf self, const ConductorOptionsPtr& options, const std::string& words);

}  // namespace troupe
