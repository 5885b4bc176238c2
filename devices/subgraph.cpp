#include "troupe/devices/subgraph.h"

#include <algorithm>

#include "troupe/ops/op.h"

namespace troupe {
namespace {

/// Marks what the roots need, and on whose behalf.
class Selection {
 public:
  explicit Selection(Subgraph& subgraph)
      : subgraph_(subgraph), needed_for_(subgraph.graph->nodes().size(), nullptr) {}

  void need(const Output& output, const Node& root) {
    if (subgraph_.feed(output) < 0) needed_for_[output.node().id] = &root;
  }
  void need(const Node& node, const Node& root) {
    const auto outputs = static_cast<int>(node.outputs.size());
    for (int i = 0; i < outputs; ++i)
      if (subgraph_.feed({const_cast<Node&>(node), i}) >= 0) return;
    needed_for_[node.id] = &root;
  }

  void close() {
    auto& graph = *subgraph_.graph;
    for (auto id = static_cast<int>(needed_for_.size()) - 1; id >= 0; --id) {
      const auto* root = needed_for_[id];
      if (root == nullptr) continue;
      auto& node = graph.node(id);
      expect_kernel(node, *root);
      for (const auto& input : node.inputs) need(input, *root);
      for (const auto* before : node.control_inputs) need(*before, *root);
      subgraph_.nodes.push_back(&node);
    }
    std::ranges::reverse(subgraph_.nodes);
  }

 private:
  static void expect_kernel(const Node& node, const Node& root) {
    if (node.op->name == "placeholder" || node.op->name == "variable")
      fail(Code::invalid_argument, node.op->name, " '", node.name, "' (", node.outputs[0],
           ") is not fed, but '", root.name, "' needs it");
    if (!node.op->alias && node.op->cpu == nullptr)
      fail(Code::unimplemented, "node '", node.name, "' (", node.op->name,
           ") has no CPU kernel, but '", root.name, "' needs it");
  }

  Subgraph& subgraph_;
  std::vector<const Node*> needed_for_;  // by node: the root that it was first needed for
};

OutputList find_all(Graph& graph, const std::vector<std::string>& names) {
  OutputList outputs;
  outputs.reserve(names.size());
  for (const auto& name : names) outputs.push_back(find_output(graph, name));
  return outputs;
}

}  // namespace

int Subgraph::feed(const Output& output) const {
  const auto found = std::ranges::find(feeds, output);
  return found == feeds.end() ? -1 : static_cast<int>(found - feeds.begin());
}

Output find_output(Graph& graph, const std::string& name) {
  auto* node = graph.find(name);
  if (node != nullptr && node->outputs.empty()) return {*node, 0};
  return graph.output(name);
}

Subgraph select_subgraph(const FragmentSpec& spec) {
  if (!spec.graph) fail(Code::invalid_argument, "the fragment has no graph");
  if (!spec.graph->finished())
    fail(Code::failed_precondition,
         "a device runs only graphs that are finished, because others may read them at the same "
         "time; call Graph::finish()");
  auto& graph = *spec.graph;
  Subgraph subgraph;
  subgraph.graph = spec.graph;
  for (const auto& name : spec.feeds) {
    const auto output = graph.output(name);
    if (subgraph.feed(output) >= 0)
      fail(Code::invalid_argument, "'", output.name(), "' is fed twice");
    subgraph.feeds.push_back(output);
  }
  subgraph.fetches = find_all(graph, spec.fetches);
  subgraph.streamed = find_all(graph, spec.streamed);
  for (const auto& target : find_all(graph, spec.targets))
    subgraph.targets.push_back(&target.node());

  Selection selection(subgraph);
  for (const auto* outputs : {&subgraph.fetches, &subgraph.streamed})
    for (const auto& output : *outputs) selection.need(output, output.node());
  for (const auto* target : subgraph.targets) selection.need(*target, *target);
  selection.close();
  return subgraph;
}

}  // namespace troupe
