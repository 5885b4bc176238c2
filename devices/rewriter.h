#pragma once

#include <string_view>
#include <vector>

#include "troupe/devices/lowering.h"

namespace troupe {

/// What those have in common who put one node in the place of several. It sees the
/// graph as it was when it was made: make another after a change.
class Rewriter {
 protected:
  explicit Rewriter(LoweredGraph& lowered);

  const std::vector<char>& live() const { return live_; }  ///< by node

  /// The live nodes that use the values of an output.
  const std::vector<Node*>& users_of(const Output& output) const;

  /// The one node that uses this node's only output, if nobody else needs it.
  Node* only_user(Node& node) const;
  /// The same if it is such an op.
  Node* only_user(Node& node, std::string_view op) const;

  /// Whether other nodes must run after this one.
  bool is_awaited(const Node& node) const;

  /// Adds a node where `last` stood in the user's graph.
  Node& add_at(const Node& last, std::string_view op, OutputList inputs, Attributes attributes,
               std::string name);

  /// Whoever used `from` uses `to`.
  void redirect(const Output& from, const Output& to);

  LoweredGraph& lowered_;

 private:
  std::vector<char> live_;
  std::vector<std::vector<std::vector<Node*>>> users_;  // by node and output
};

}  // namespace troupe
