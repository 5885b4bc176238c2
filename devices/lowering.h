#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/devices/subgraph.h"

namespace troupe {

/// A fragment's own graph: only what it needs, every extent known. The user's
/// graph stays as it is; nodes keep their names, so that errors speak of nodes
/// that the user knows.
struct LoweredGraph {
  std::unique_ptr<Graph> graph;
  OutputList feeds;  ///< in the order of the spec
  OutputList fetches;
  OutputList streamed;
  std::vector<Node*> targets;
  std::vector<int> position;       ///< by node: where it stands in the order of the user's graph
  std::vector<std::string> notes;  ///< what was rewritten, for people

  /// Whether the value of this output leaves the program.
  bool leaves(const Output& output) const;
  /// Whether this node is to be run although nobody may read it.
  bool is_target(const Node& node) const;
};

/// The output that this one shows, through reshapes and other aliases.
Output root(Output output);

/// Copies a subgraph with the specs of what is fed. On the way, equal nodes
/// without effects become one, and small nodes that depend on nothing but
/// constants (or on the shapes of their inputs) become constants.
/// Throws invalid_argument when an op does not take the shapes.
LoweredGraph lower(const Subgraph& subgraph, std::span<const TensorSpec> fed);

/// Whether only the shape of this input matters to the node.
bool reads_only_shape(const Node& node, std::size_t input);

/// The inputs whose values the node reads.
template <class Fn>
void for_each_value_input(const Node& node, Fn fn) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (!reads_only_shape(node, i)) fn(node.inputs[i]);
}

/// By node: whether its outputs' values or its effects are needed for what
/// leaves, or for a target.
std::vector<char> live_nodes(const LoweredGraph& lowered);

}  // namespace troupe
