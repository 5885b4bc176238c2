#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/explain/sample.h"
#include "troupe/actors/explain/wait_graph.h"

namespace troupe {

/// What an observer of a topology has seen so far.
struct Observations {
  Topology topology;
  std::vector<Sample> samples;  ///< in the order of time; of a long run fewer from each minute
  std::vector<Stall> stalls;    ///< of the time when nothing moved; empty if it moves
};
using ObservationsPtr = std::shared_ptr<const Observations>;

}  // namespace troupe
