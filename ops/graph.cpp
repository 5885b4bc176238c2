#include "troupe/ops/graph.h"

#include <algorithm>
#include <charconv>
#include <ostream>

#include "troupe/ops/catalog.h"
#include "troupe/ops/device_spec.h"
#include "troupe/ops/error.h"
#include "troupe/ops/op.h"

namespace troupe {

std::ostream& operator<<(std::ostream& out, const TensorSpec& spec) {
  return out << spec.dtype << ' ' << spec.shape;
}

Node& Output::node() const {
  if (node_ == nullptr)
    fail(Code::invalid_argument, "an output that stands for nothing was used as an input");
  return *node_;
}

Graph& Output::graph() const { return *node().graph; }

const TensorSpec& Output::spec() const { return node().outputs.at(index_); }

std::string Output::name() const {
  return index_ == 0 ? node().name : text(node().name, ':', index_);
}

bool Variable::trainable() const { return node->attributes.get_or("trainable", true); }

Node& Graph::add(std::string_view op, OutputList inputs, Attributes attributes,
                 std::string_view name) {
  const auto& def = find_op(op);
  const auto called = name_scope_ + std::string(name.empty() ? op : name);
  if (finished_)
    fail(Code::failed_precondition, "cannot add '", called, "' (", op,
         "): the graph is finished; build everything before it runs");
  for (const auto& input : inputs)
    if (&input.graph() != this)
      fail(Code::invalid_argument, "node '", called, "' (", op, "): input '", input.name(),
           "' belongs to another graph");

  Node node;
  node.id = static_cast<int>(nodes_.size());
  node.name = called;
  node.op = &def;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.control_inputs = control_;
  node.graph = this;
  node.outputs = infer_outputs(node);

  node.name = unique_name(called);
  ask_for_device(node);
  auto& added = nodes_.emplace_back(std::move(node));
  by_name_[added.name] = &added;
  return added;
}

std::string Graph::unique_name(std::string_view wanted) {
  std::string name(wanted);
  if (!by_name_.count(name)) return name;
  auto& suffix = next_suffix_.try_emplace(name, 1).first->second;
  while (by_name_.count(name)) name = text(wanted, '_', suffix++);
  return name;
}

void Graph::ask_for_device(Node& node) const {
  node.colocated_with = colocated_;
  for (const auto* beside : colocated_)
    if (!beside->device.empty()) node.device = beside->device;
  if (!node.device.empty()) return;
  for (auto scope = devices_.rbegin(); scope != devices_.rend(); ++scope) {
    const auto outer = (*scope)(node);
    if (outer.empty()) continue;
    node.device = to_string(merged(DeviceSpec::parse(outer), DeviceSpec::parse(node.device)));
  }
}

Node* Graph::find(std::string_view name) {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : found->second;
}
const Node* Graph::find(std::string_view name) const {
  return const_cast<Graph*>(this)->find(name);
}

Output Graph::output(std::string_view name) {
  auto stem = name;
  int index = 0;
  if (const auto colon = name.rfind(':'); colon != std::string_view::npos) {
    const auto digits = name.substr(colon + 1);
    const auto end = digits.data() + digits.size();
    if (std::from_chars(digits.data(), end, index).ptr == end && !digits.empty())
      stem = name.substr(0, colon);
  }
  auto* node = find(stem);
  if (node == nullptr) {
    std::string near;
    for (const auto& candidate : nodes_)
      if (candidate.name.find(stem) != std::string::npos && near.size() < 200)
        near += text(near.empty() ? "" : ", ", candidate.name);
    fail(Code::not_found, "the graph has no node '", stem, "'",
         near.empty() ? "" : text("; there are: ", near));
  }
  if (index < 0 || index >= static_cast<int>(node->outputs.size()))
    fail(Code::not_found, "node '", stem, "' (", node->op->name, ") has ", node->outputs.size(),
         " outputs, but output ", index, " was asked for");
  return {*node, index};
}

std::vector<Variable> Graph::variables() {
  std::vector<Variable> found;
  for (auto& node : nodes_)
    if (node.op->name == "variable") found.push_back({&node});
  return found;
}

void Graph::rename(Node& node, const std::string& name) {
  if (finished_)
    fail(Code::failed_precondition, "cannot rename '", node.name, "': the graph is finished");
  const auto full = name_scope_ + name;
  if (full == node.name) return;
  if (by_name_.count(full))
    fail(Code::already_exists, "cannot rename '", node.name, "' to '", full,
         "': another node has that name");
  by_name_.erase(node.name);
  next_suffix_.clear();  // the name that became free may be the next one
  node.name = full;
  by_name_[full] = &node;
}

NameScope::NameScope(Graph& graph, std::string_view name)
    : graph_(graph), outer_(graph.name_scope_) {
  graph.name_scope_ += text(name, '/');
}
NameScope::~NameScope() { graph_.name_scope_ = outer_; }

ControlScope::ControlScope(Graph& graph, const OutputList& after)
    : graph_(graph), outer_(graph.control_.size()) {
  for (const auto& output : after) graph.control_.push_back(&output.node());
}
ControlScope::~ControlScope() { graph_.control_.resize(outer_); }

Output named(const std::string& name, Output output) {
  output.graph().rename(output.node(), name);
  return output;
}

}  // namespace troupe
