#pragma once

#include "topology_run.h"

namespace troupe::cli {

/// Trains the members that are not trained yet, side by side, and says how good each of
/// them is and how good they are together. Others may join them meanwhile ("troupe edit").
/// Returns the exit code.
int run_ensemble(const TopologyFile& file, const RunArguments& a);

}  // namespace troupe::cli
