#include "troupe/devices/subgraph.h"

#include <algorithm>

#include "troupe/ops/op.h"

namespace troupe {
namespace {

OutputList find_all(Graph& graph, const std::vector<std::string>& names) {
  OutputList outputs;
  outputs.reserve(names.size());
  for (const auto& name : names) outputs.push_back(find_output(graph, name));
  return outputs;
}

bool is_fed(const OutputList& feeds, const Output& output) {
  return std::ranges::find(feeds, output) != feeds.end();
}

void expect_runnable(const NeededNode& needed) {
  const auto& op = *needed.node->op;
  if (op.name == "placeholder" || op.name == "variable") throw not_fed(needed);
  if (!op.alias && op.cpu == nullptr)
    fail(Code::unimplemented, "node '", needed.node->name, "' (", op.name,
         ") has no CPU kernel, but '", needed.root->name, "' needs it");
}

}  // namespace

void expect_feeds(const OutputList& declared, const TensorList& feeds, const std::string& where) {
  if (feeds.size() != declared.size()) {
    std::string names;
    for (const auto& feed : declared) names += text(names.empty() ? "" : ", ", feed.name());
    fail(Code::invalid_argument, where, ": the fragment takes ", declared.size(), " feeds (", names,
         "), but got ", feeds.size());
  }
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const auto& want = declared[i];
    const TensorSpec got{feeds[i].dtype(), feeds[i].shape()};
    if (got.dtype == want.dtype() && compatible(got.shape, want.shape())) continue;
    const auto& op = want.node().op->name;
    const bool known = op == "placeholder" || op == "variable";
    fail(Code::invalid_argument, known ? op : "output", " '", want.name(), "' takes ", want.spec(),
         ", but was fed ", got);
  }
}

Output find_output(Graph& graph, const std::string& name) {
  auto* node = graph.find(name);
  if (node != nullptr && node->outputs.empty()) return {*node, 0};
  return graph.output(name);
}

std::vector<NeededNode> needed_nodes(Graph& graph, const OutputList& feeds,
                                     const OutputList& fetches, const std::vector<Node*>& targets) {
  std::vector<const Node*> needed_for(graph.nodes().size(), nullptr);
  const auto need_value = [&](const Output& output, const Node& root) {
    if (!is_fed(feeds, output)) needed_for[output.node().id] = &root;
  };
  const auto need_effect = [&](Node& node, const Node& root) {
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i)
      if (is_fed(feeds, node.output(i))) return;
    needed_for[node.id] = &root;
  };
  for (const auto& fetch : fetches) need_value(fetch, fetch.node());
  for (auto* target : targets) need_effect(*target, *target);

  std::vector<NeededNode> needed;
  for (auto id = static_cast<int>(needed_for.size()) - 1; id >= 0; --id) {
    if (needed_for[id] == nullptr) continue;
    auto& node = graph.node(id);
    needed.push_back({&node, needed_for[id]});
    for (const auto& input : node.inputs) need_value(input, *needed_for[id]);
    for (auto* before : node.control_inputs) need_effect(*before, *needed_for[id]);
  }
  std::ranges::reverse(needed);
  return needed;
}

Error not_fed(const NeededNode& needed) {
  const auto& node = *needed.node;
  return {Code::invalid_argument, text(node.op->name, " '", node.name, "' (", node.outputs[0],
                                       ") is not fed, but '", needed.root->name, "' needs it")};
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
    if (is_fed(subgraph.feeds, output))
      fail(Code::invalid_argument, "'", output.name(), "' is fed twice");
    subgraph.feeds.push_back(output);
  }
  subgraph.fetches = find_all(graph, spec.fetches);
  subgraph.streamed = find_all(graph, spec.streamed);
  for (const auto& target : find_all(graph, spec.targets))
    subgraph.targets.push_back(&target.node());

  auto leaving = subgraph.fetches;
  leaving.insert(leaving.end(), subgraph.streamed.begin(), subgraph.streamed.end());
  for (const auto& needed : needed_nodes(graph, subgraph.feeds, leaving, subgraph.targets)) {
    expect_runnable(needed);
    subgraph.nodes.push_back(needed.node);
  }
  return subgraph;
}

}  // namespace troupe
