#include "troupe/devices/rewriter.h"

#include <algorithm>

#include "troupe/ops/op.h"

namespace troupe {

Rewriter::Rewriter(LoweredGraph& lowered)
    : lowered_(lowered), live_(live_nodes(lowered)), users_(live_.size()) {
  for (std::size_t id = 0; id < live_.size(); ++id) {
    if (!live_[id]) continue;
    auto& node = lowered.graph->node(static_cast<int>(id));
    for_each_value_input(node, [&](const Output& input) {
      auto& outputs = users_[input.node().id];
      outputs.resize(std::max<std::size_t>(outputs.size(), input.index() + 1));
      outputs[input.index()].push_back(&node);
    });
  }
}

const std::vector<Node*>& Rewriter::users_of(const Output& output) const {
  static const std::vector<Node*> none;
  const auto& outputs = users_[output.node().id];
  return output.index() < static_cast<int>(outputs.size()) ? outputs[output.index()] : none;
}

Node* Rewriter::only_user(Node& node) const {
  const auto output = node.output(0);
  if (node.outputs.size() != 1 || lowered_.leaves(output) || lowered_.is_target(node))
    return nullptr;
  const auto& users = users_of(output);
  return users.size() == 1 && users[0]->control_inputs.empty() && !is_awaited(node) ? users[0]
                                                                                    : nullptr;
}

Node* Rewriter::only_user(Node& node, std::string_view op) const {
  auto* user = only_user(node);
  return user != nullptr && user->op->name == op ? user : nullptr;
}

bool Rewriter::is_awaited(const Node& node) const {
  return std::ranges::any_of(lowered_.graph->nodes(), [&](const Node& other) {
    return std::ranges::find(other.control_inputs, &node) != other.control_inputs.end();
  });
}

Node& Rewriter::add_at(const Node& last, std::string_view op, OutputList inputs,
                       Attributes attributes, std::string name) {
  auto& added = lowered_.graph->add(op, std::move(inputs), std::move(attributes), std::move(name));
  lowered_.position.push_back(lowered_.position[last.id]);
  return added;
}

void Rewriter::redirect(const Output& from, const Output& to) {
  const auto move = [&](Output& output) {
    if (output == from) output = to;
  };
  for (int id = 0; id < static_cast<int>(lowered_.graph->nodes().size()); ++id) {
    auto& node = lowered_.graph->node(id);
    std::ranges::for_each(node.inputs, move);
    for (auto*& before : node.control_inputs)
      if (before == &from.node()) before = &to.node();
  }
  std::ranges::for_each(lowered_.fetches, move);
  std::ranges::for_each(lowered_.streamed, move);
  for (auto*& target : lowered_.targets)
    if (target == &from.node()) target = &to.node();
}

}  // namespace troupe
