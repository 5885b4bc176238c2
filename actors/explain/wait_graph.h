#pragma once

#include <string>
#include <vector>

#include "troupe/actors/explain/sample.h"

namespace troupe {

/// Why somebody waits for ever.
struct Stall {
  enum class Kind {
    cycle,        ///< each waits for the next, and the last for the first
    no_producer,  ///< an open queue with too few elements, and nobody alive to bring more
    no_consumer,  ///< a full queue, and nobody alive to take from it
  };
  Kind kind = Kind::cycle;
  std::vector<std::size_t> nodes;  ///< positions in Topology::nodes; of a cycle in its order
  std::string message;             ///< with names, sizes and capacities
};

/// Who waits for whom, between two samples and at the second: an actor that waited
/// for its input all the time waits for those before it, one that waited for room
/// for those behind it; a queue with a waiting dequeue waits for its producers, one
/// with a waiting enqueue for its consumers. Whoever waits goes on as soon as one
/// of those goes on, so only actors none of which can are told.
///
/// An actor that is silent, at work, or not observed can go on. For a topology
/// that moves there is nothing to tell.
std::vector<Stall> find_stalls(const Topology& topology, const Sample& before, const Sample& after);

}  // namespace troupe
