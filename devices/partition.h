#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "troupe/devices/placer.h"
#include "troupe/devices/subgraph.h"
#include "troupe/messages/payloads.h"

namespace troupe {

/// A value that a part makes, is fed or gets from another part in each step.
struct PartSlot {
  /// Where it goes once it is there: a slot of another part. Such a pair is an edge
  /// between devices; what travels is (step, slot, tensor).
  struct Edge {
    std::size_t part = 0;  ///< position in Partition::parts
    std::uint32_t slot = 0;
  };
  std::string name;  ///< "conv1", for people
  std::vector<Edge> edges;
  std::vector<std::size_t> awaited_by;  ///< fragments of this part
  std::vector<std::size_t> fetched;     ///< positions in the part's answer
  std::vector<std::uint32_t> streamed;  ///< positions in FragmentSpec::streamed
};

/// Nodes that wait for the same things, and so can run as one.
struct PartFragment {
  FragmentSpec spec;                   ///< nothing is fetched: all outputs are streamed
  std::vector<std::uint32_t> feeds;    ///< slots, in the order of spec.feeds
  std::vector<std::uint32_t> outputs;  ///< slots, in the order of spec.streamed
  int awaits = 0;  ///< slots to wait for: feeds, and nodes elsewhere that must have run
};

/// What one device does of a subgraph.
struct PartSpec {
  std::size_t device = 0;  ///< position in Placement::devices
  std::vector<PartSlot> slots;
  std::vector<PartFragment> fragments;
  std::vector<std::uint32_t> feeds;  ///< slots of what a run feeds to this part
  std::size_t fetches = 0;
};

/// A subgraph cut by device. Each part begins a fragment as soon as all is there that
/// the fragment waits for, whichever device it comes from.
///
/// Nodes of a device are in one fragment if they depend on the same values of other
/// devices, so none waits for what it does not need, and two devices never wait for each
/// other. Constants are copied to where they are used. A node that must run after
/// another one on another device waits for an edge without a value.
struct Partition {
  struct At {
    std::size_t part = 0;
    std::size_t position = 0;
  };
  std::vector<PartSpec> parts;
  std::vector<At> feeds;      ///< of each of the subgraph's: its position in PartSpec::feeds
  std::vector<At> fetches;    ///< of each of the subgraph's: its position in the part's answer
  std::size_t edges() const;  ///< between devices
};

Partition partition(const Subgraph& subgraph, const Placement& placement);

}  // namespace troupe
