#include "troupe/devices/fusion.h"

#include <algorithm>

#include "troupe/ops/catalog.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

/// Who uses each output's values, among the nodes that are live.
class Users {
 public:
  explicit Users(const LoweredGraph& lowered) : of_(lowered.graph->nodes().size()) {
    const auto live = live_nodes(lowered);
    for (std::size_t id = 0; id < live.size(); ++id) {
      if (!live[id]) continue;
      auto& node = lowered.graph->node(static_cast<int>(id));
      for_each_value_input(node, [&](const Output& input) {
        auto& outputs = of_[input.node().id];
        outputs.resize(std::max<std::size_t>(outputs.size(), input.index() + 1));
        outputs[input.index()].push_back(&node);
      });
    }
  }

  const std::vector<Node*>& of(const Output& output) const {
    static const std::vector<Node*> none;
    const auto& outputs = of_[output.node().id];
    return output.index() < static_cast<int>(outputs.size()) ? outputs[output.index()] : none;
  }

 private:
  std::vector<std::vector<std::vector<Node*>>> of_;  // by node and output
};

class Fuser {
 public:
  explicit Fuser(LoweredGraph& lowered) : lowered_(lowered), users_(lowered) {}

  bool fuse_one() {
    const auto live = live_nodes(lowered_);
    for (std::size_t id = 0; id < live.size(); ++id) {
      auto& node = lowered_.graph->node(static_cast<int>(id));
      if (live[id] && fuse_bias(node)) return true;
    }
    return false;
  }

 private:
  /// The one node that uses this node's only output, if nobody else needs it.
  Node* only_user(Node& node) const {
    const auto output = node.output(0);
    if (node.outputs.size() != 1 || lowered_.leaves(output) || lowered_.is_target(node))
      return nullptr;
    const auto& users = users_.of(output);
    return users.size() == 1 && users[0]->control_inputs.empty() && !is_awaited(node) ? users[0]
                                                                                      : nullptr;
  }

  bool is_awaited(const Node& node) const {
    return std::ranges::any_of(lowered_.graph->nodes(), [&](const Node& other) {
      return std::ranges::find(other.control_inputs, &node) != other.control_inputs.end();
    });
  }

  /// The vector that `node` adds to the last axis of `x`.
  static Output bias_of(const Node& node, const Output& x) {
    if (node.op->name != "bias_add" && node.op->name != "add") return {};
    if (node.inputs.size() != 2) return {};
    const auto& other = node.inputs[0] == x ? node.inputs[1] : node.inputs[0];
    const bool fits = other.shape().rank() == 1 && x.shape().rank() >= 2 &&
                      other.shape()[0] == x.shape()[-1] && other.dtype() == x.dtype() &&
                      !(other == x);
    return fits && (node.op->name == "add" || node.inputs[0] == x) ? other : Output();
  }

  bool fuse_bias(Node& product) {
    const auto& op = product.op->name;
    const std::string fused = text("fused_", op);
    if ((op != "conv2d" && op != "matmul") || !has_op(fused)) return false;
    auto* add = only_user(product);
    const auto bias = add ? bias_of(*add, product.output(0)) : Output();
    if (!bias) return false;
    auto* relu = only_user(*add);
    if (relu != nullptr && relu->op->name != "relu") relu = nullptr;

    auto attributes = product.attributes;
    attributes.set("activation", std::string(relu ? "relu" : "none"));
    std::vector<Node*> group{&product, add};
    if (relu) group.push_back(relu);
    replace(group, fused, {product.inputs[0], product.inputs[1], bias}, std::move(attributes));
    return true;
  }

  /// Puts one node in the place of a chain, whose last node gives the value.
  void replace(const std::vector<Node*>& chain, const std::string& op, OutputList inputs,
               Attributes attributes) {
    std::string name;
    for (const auto* node : chain) name += text(name.empty() ? "" : "+", node->name);
    auto& last = *chain.back();
    auto& fused = lowered_.graph->add(op, std::move(inputs), std::move(attributes), name);
    fused.control_inputs = chain.front()->control_inputs;
    lowered_.position.push_back(lowered_.position[last.id]);
    redirect(last.output(0), fused.output(0));
    lowered_.notes.push_back(text(name, " -> ", op));
  }

  void redirect(const Output& from, const Output& to) {
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

  LoweredGraph& lowered_;
  const Users users_;
};

}  // namespace

void fuse(LoweredGraph& lowered) {
  while (Fuser(lowered).fuse_one()) {
  }
}

}  // namespace troupe
