#pragma once

#include <span>

#include "troupe/actors/explain/sample.h"

namespace troupe {

/// Between which two samples a run was in its stride.
struct SteadyWindow {
  std::size_t begin = 0;  ///< positions in the list; equal when there is nothing to compare
  std::size_t end = 0;
  bool short_run = false;   ///< less than a second, or the beginning could not be left out
  bool data_ended = false;  ///< the end of the data came first, and what followed is left out
};

/// Leaves out the beginning, until every replica has passed on a batch but at
/// least two seconds, and the end, from when the readers of the training data had
/// no more or the replicas were stopped. If nothing much is left, it leaves out
/// less and says so.
SteadyWindow steady_window(const Topology& topology, std::span<const Sample> samples);

/// The readers, decoders, queues and feeders whose data come to a replica.
std::vector<std::size_t> data_path(const Topology& topology);

}  // namespace troupe
