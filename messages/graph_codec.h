#pragma once

#include <string>
#include <string_view>

#include "troupe/ops/graph.h"

namespace troupe {

/// The graph as bytes (proto/graph.proto). Equal graphs give equal bytes.
/// Throws resource_exhausted when constants make it larger than 2 GiB.
std::string encode_graph(const Graph& graph);

/// A graph like the one that was encoded, not finished: its nodes are added one
/// by one, so every op checks its inputs and attributes again.
///
/// The bytes may come from anywhere. Throws data_loss when they are no graph,
/// not_found for an op that this process does not have, and invalid_argument,
/// naming the node, for everything else that does not fit together.
GraphPtr decode_graph(std::string_view bytes);

/// The same as text that people can read and write (.pbtxt): small tensors have
/// their values written out. Errors name line and column.
std::string graph_to_text(const Graph& graph);
GraphPtr graph_from_text(std::string_view text);

}  // namespace troupe
