#pragma once

#include <vector>

#include "troupe/messages/payloads.h"
#include "troupe/ops/error.h"
#include "troupe/ops/graph.h"

namespace troupe {

/// What a FragmentSpec asks of its graph: names resolved, everything else cut away.
struct Subgraph {
  GraphPtr graph;
  OutputList feeds;
  OutputList fetches;   ///< also {node, 0} of a node without outputs, which gives an empty tensor
  OutputList streamed;  ///< as fetches
  std::vector<Node*> targets;
  /// What must run, or at least be looked at for its shape, inputs first. A node
  /// whose output is fed is not among them unless another of its outputs is needed.
  std::vector<Node*> nodes;
};

/// Throws invalid_argument for a feed that is named twice or for a placeholder or
/// variable that is needed but not fed (naming the fetch that needs it),
/// not_found for a name that the graph does not have, unimplemented for an op that
/// has no CPU kernel, and failed_precondition for a graph that is not finished.
Subgraph select_subgraph(const FragmentSpec& spec);

/// A node that is needed, and the fetch or target that needs it.
struct NeededNode {
  Node* node;
  const Node* root;
};

/// What the fetches and targets need, down to what is fed, inputs first: also
/// placeholders and variables that are not fed.
std::vector<NeededNode> needed_nodes(Graph& graph, const OutputList& feeds,
                                     const OutputList& fetches,
                                     const std::vector<Node*>& targets = {});

/// The error of a placeholder or variable that is needed but not fed.
Error not_fed(const NeededNode& needed);

/// Throws invalid_argument when there are too few or too many feeds, which `where` says,
/// and, naming the placeholder, when a dtype or shape does not fit.
void expect_feeds(const OutputList& declared, const TensorList& feeds, const std::string& where);

/// The output of that name; {node, 0} for the name of a node without outputs.
/// Throws not_found.
Output find_output(Graph& graph, const std::string& name);

}  // namespace troupe
