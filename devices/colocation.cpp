#include "troupe/devices/colocation.h"

#include <algorithm>
#include <utility>

#include "troupe/ops/device_types.h"
#include "troupe/ops/error.h"
#include "troupe/ops/op.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

std::vector<std::string> in_both(const std::vector<std::string>& a,
                                 const std::vector<std::string>& b) {
  std::vector<std::string> both;
  for (const auto& type : a)
    if (std::ranges::find(b, type) != b.end()) both.push_back(type);
  return both;
}

}  // namespace

ColocationGroups::ColocationGroups(const Graph& graph, const std::vector<std::string>& types,
                                   bool soft)
    : soft_(soft), notes_(graph.nodes().size()) {
  for (const auto& node : graph.nodes()) {
    parents_.push_back(node.id);
    auto& group = groups_.emplace_back();
    group.requested = DeviceSpec::parse(node.device);
    if (!group.requested.empty()) group.asked_by = &node;
    for (const auto& type : types)
      if (has_kernel(*node.op, type)) group.types.push_back(type);
  }
  for (const auto& node : graph.nodes())
    if (is_assignment(node)) place_with_variable(node);
  for (const auto& node : graph.nodes())
    for (const auto* beside : node.colocated_with) join(*beside, node);
  for (const auto& node : graph.nodes()) parents_[node.id] = find(node);
}

int ColocationGroups::find(const Node& node) {
  auto id = node.id;
  while (parents_[id] != id) id = parents_[id] = parents_[parents_[id]];
  return id;
}

void ColocationGroups::place_with_variable(const Node& assignment) {
  const auto& variable = assignment.inputs[0].node();
  auto requested = groups_[find(variable)].requested;
  try {
    requested = merged_for_both(requested, groups_[find(assignment)].requested);
  } catch (const Error&) {
    notes_[assignment.id] = text("; its own wish, ", assignment.device, ", is passed over");
  }
  auto types = in_both(groups_[find(variable)].types, groups_[find(assignment)].types);
  if (types.empty())
    fail(Code::invalid_argument, "Cannot colocate nodes '", variable.name, "' and '",
         assignment.name,
         "' because no device type supports both of those nodes and the other "
         "nodes colocated with them.");
  merge(find(variable), find(assignment), std::move(requested), std::move(types));
}

void ColocationGroups::join(const Node& a, const Node& b) {
  const auto first = find(a);
  const auto second = find(b);
  if (first == second) return;
  try {
    auto types = in_both(groups_[first].types, groups_[second].types);
    if (types.empty())
      fail(Code::invalid_argument, "Cannot colocate nodes '", a.name, "' and '", b.name,
           "' because no device type supports both of those nodes and the other nodes "
           "colocated with them.");
    auto requested = groups_[first].requested;
    try {
      requested = merged_for_both(requested, groups_[second].requested, soft_);
    } catch (const Error& error) {
      throw error.within(text("Cannot colocate nodes '", a.name, "' and '", b.name, "'"));
    }
    merge(first, second, std::move(requested), std::move(types));
  } catch (const Error&) {
    if (!soft_) throw;
    notes_[b.id] = text("; soft placement: not with '", a.name, "', which is elsewhere");
  }
}

void ColocationGroups::merge(int a, int b, DeviceSpec requested, std::vector<std::string> types) {
  if (a == b) return;
  const auto root = std::min(a, b);
  const auto other = std::max(a, b);
  parents_[other] = root;
  auto& group = groups_[root];
  auto& joined = groups_[other];
  if (group.asked_by == nullptr) group.asked_by = joined.asked_by;
  group.requested = std::move(requested);
  group.types = std::move(types);
  group.size += joined.size;
}

}  // namespace troupe
