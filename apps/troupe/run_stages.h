#pragma once

#include "troupe/actors/topology/topology_file.h"

namespace troupe::cli {

/// Trains a model that is cut into stages, evaluates it at the end, and keeps a checkpoint.
/// Returns the exit code.
int run_stages(const TopologyFile& file);

}  // namespace troupe::cli
