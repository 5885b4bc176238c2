#include <map>
#include <sstream>

#include "troupe/actors/topology/dot_words.h"
#include "troupe/actors/topology/topology_plan.h"
#include "troupe/devices/subgraph.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

/// "conv1" of "conv1/weights": what stands in front of the last slash.
std::string scope_of(const std::string& name) {
  const auto slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

}  // namespace

std::string to_dot(const Model& model, const std::string& title) {
  std::ostringstream out;
  out << "digraph model {\n"
      << "  graph [rankdir=TB, fontname=\"Helvetica\", fontsize=15, labelloc=t, nodesep=0.3, "
         "ranksep=0.35, pad=0.3, label="
      << dot_quoted(title) << "];\n"
      << "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#fdf0e1\", color=\"#c9781c\", "
         "fontname=\"Helvetica\", fontsize=11, margin=\"0.12,0.06\"];\n"
      << "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#606060\", fontcolor=\"#404040\", "
         "arrowsize=0.7];\n";
  OutputList wanted{model.loss};
  for (const auto& metric : model.metrics) wanted.push_back(metric.value);
  if (model.predictions) wanted.push_back(model.predictions);
  std::map<std::string, std::string> scopes;  // what stands in each
  std::ostringstream edges;
  for (const auto& needed : needed_nodes(*model.graph, {}, wanted)) {
    const auto& node = *needed.node;
    std::ostringstream line;
    line << dot_quoted(node.name) << " [label=" << dot_quoted(text(node.name, "\n", node.op->name));
    const auto kind = node.op->name;
    if (kind == "placeholder") line << ", fillcolor=\"#e8f1fa\", color=\"#3b78b5\"";
    if (kind == "variable") line << ", fillcolor=\"#e9f5e6\", color=\"#4a934a\"";
    if (kind == "constant") line << ", fillcolor=\"#f0f0f0\", color=\"#808080\"";
    line << "];\n";
    scopes[scope_of(node.name)] += "    " + line.str();
    for (const auto& input : node.inputs)
      edges << "  " << dot_quoted(input.node().name) << " -> " << dot_quoted(node.name)
            << " [label=" << dot_quoted(text(input.shape())) << "];\n";
    for (const auto* before : node.control_inputs)
      edges << "  " << dot_quoted(before->name) << " -> " << dot_quoted(node.name)
            << " [style=dotted];\n";
  }
  int cluster = 0;
  for (const auto& [scope, nodes] : scopes) {
    if (scope.empty()) {
      out << nodes;
      continue;
    }
    out << "  subgraph cluster_" << cluster++ << " {\n    label=" << dot_quoted(scope)
        << "; fontname=\"Helvetica\"; fontsize=12; color=\"#b0b0b0\"; style=\"rounded\";\n"
        << nodes << "  }\n";
  }
  out << edges.str() << "}\n";
  return out.str();
}

}  // namespace troupe
