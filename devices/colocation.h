#pragma once

#include <string>
#include <vector>

#include "troupe/ops/device_spec.h"
#include "troupe/ops/graph.h"

namespace troupe {

/// The nodes of a graph in groups that must share a device: an assignment and its
/// variable, and what is colocated by wish (Node::colocated_with).
class ColocationGroups {
 public:
  struct Group {
    DeviceSpec requested;            ///< what its members ask for together
    const Node* asked_by = nullptr;  ///< the first member that asks; none if nobody does
    std::vector<std::string> types;  ///< kinds of devices that can run all members
    int size = 1;
  };

  /// `types` are the kinds of devices there are. With `soft`, wishes that cannot be met
  /// together are passed over: first types and indices, then the colocation itself.
  /// Throws invalid_argument, "Cannot colocate nodes 'A' and 'B': ...", without it.
  ColocationGroups(const Graph& graph, const std::vector<std::string>& types, bool soft);

  /// The id of the first node in the node's group: the same for all members.
  int root(const Node& node) const { return parents_[node.id]; }
  const Group& group(const Node& node) const { return groups_[root(node)]; }

  /// What was passed over on behalf of this node, for people; "" for nothing.
  const std::string& passed_over(const Node& node) const { return notes_[node.id]; }

 private:
  int find(const Node& node);
  void place_with_variable(const Node& assignment);
  void join(const Node& a, const Node& b);
  void merge(int a, int b, DeviceSpec requested, std::vector<std::string> types);

  const bool soft_;
  std::vector<int> parents_;   // by node
  std::vector<Group> groups_;  // by node; only those of roots count
  std::vector<std::string> notes_;
};

}  // namespace troupe
