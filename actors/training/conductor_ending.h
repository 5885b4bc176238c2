#pragma once

#include "troupe/actors/training/conductor.h"

namespace troupe {

/// The run ends, for that reason, once all replicas have.
void stop_run(ConductorSelf self, const ConductorOptionsPtr& options, Ending why);
/// The same when somebody asks for it. Whoever asks again gives the last evaluation up.
void stop_when_asked(ConductorSelf self, const ConductorOptionsPtr& options);
/// The same with the failure that is the cause; at once if the weights are not worth keeping.
void fail_run(ConductorSelf self, const ConductorOptionsPtr& options, const Error& error,
              bool keep_weights);

/// Replicas end after the step that they are in; those that are lost do not come back.
void stop_replicas(ConductorSelf self, const ConductorOptionsPtr& options);
/// No replica takes part any more: how the run has ended, and then its last checkpoint and its last
/// evaluation. First it saves: whoever is killed during a long evaluation has lost nothing.
void conclude(ConductorSelf self, const ConductorOptionsPtr& options);

}  // namespace troupe
