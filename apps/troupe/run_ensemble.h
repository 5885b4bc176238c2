#pragma once

#include "troupe/actors/topology/topology_file.h"

namespace troupe::cli {

/// Trains the members that are not trained yet, side by side, and says how good each of
/// them is and how good they are together. Returns the exit code.
int run_ensemble(const TopologyFile& file);

}  // namespace troupe::cli
