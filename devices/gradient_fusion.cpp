#include "troupe/devices/gradient_fusion.h"

#include "troupe/devices/rewriter.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

class GradientFuser : Rewriter {
 public:
  explicit GradientFuser(LoweredGraph& lowered) : Rewriter(lowered) {}

  bool fuse_one() {
    for (std::size_t id = 0; id < live().size(); ++id) {
      auto& node = lowered_.graph->node(static_cast<int>(id));
      if (live()[id] && (remember_winners(node) || fuse_relu_and_bias(node))) return true;
    }
    return false;
  }

 private:
  Node* user_of(const Output& output, std::string_view op) const {
    for (auto* user : users_of(output))
      if (user->op->name == op) return user;
    return nullptr;
  }

  /// The bias_add_grad of a gradient, if it may move to where that is made.
  Node* bias_gradient_of(const Output& gradient) const {
    auto* bias = user_of(gradient, "bias_add_grad");
    return bias != nullptr && bias->control_inputs.empty() ? bias : nullptr;
  }

  static bool is_relu(const Node& node) {
    return node.op->name == "relu" || node.attributes.get_or("activation", std::string()) == "relu";
  }

  bool remember_winners(Node& pool) {
    if (pool.op->name != "max_pool") return false;
    const auto x = pool.inputs[0];
    auto* gradient = user_of(pool.output(0), "max_pool_grad");
    if (!gradient || gradient->inputs[0] != x || gradient->inputs[1] != pool.output(0) ||
        !gradient->control_inputs.empty())
      return false;
    auto* relu = is_relu(x.node()) ? only_user(*gradient, "relu_grad") : nullptr;
    if (relu && (relu->inputs[0] != gradient->output(0) || relu->inputs[1] != x)) relu = nullptr;

    auto attributes = pool.attributes;
    attributes.set("relu", relu != nullptr);
    Node* forward = nullptr;
    try {
      forward = &add_at(pool, "max_pool_winners", {x}, std::move(attributes), pool.name);
    } catch (const Error&) {
      return false;  // a window of too many places
    }
    forward->control_inputs = pool.control_inputs;
    redirect(pool.output(0), forward->output(0));
    const auto winners = forward->output(1);
    const auto dy = gradient->inputs[2];
    auto& last = relu ? *relu : *gradient;
    auto& backward =
        add_at(last, "max_pool_winners_grad", {x, winners, dy}, pool.attributes, gradient->name);
    auto* bias = relu ? bias_gradient_of(relu->output(0)) : nullptr;
    redirect(last.output(0), backward.output(0));
    if (bias)
      redirect(
          bias->output(0),
          add_at(*bias, "max_pool_winners_bias_grad", {dy, winners}, {}, bias->name).output(0));
    lowered_.notes.push_back(text(gradient->name, relu ? " + relu" : "", bias ? " + bias" : "",
                                  " -> ", backward.op->name));
    return true;
  }

  bool fuse_relu_and_bias(Node& relu) {
    if (relu.op->name != "relu_grad" || relu.outputs[0].shape.rank() < 2) return false;
    auto* bias = bias_gradient_of(relu.output(0));
    if (!bias) return false;
    const auto name = text(relu.name, "+", bias->name);
    auto& fused = add_at(relu, "relu_bias_grad", relu.inputs, {}, name);
    fused.control_inputs = relu.control_inputs;
    redirect(relu.output(0), fused.output(0));
    redirect(bias->output(0), fused.output(1));
    lowered_.notes.push_back(text(name, " -> ", fused.op->name));
    return true;
  }
};

}  // namespace

void fuse_gradients(LoweredGraph& lowered) {
  while (GradientFuser(lowered).fuse_one()) {
  }
}

}  // namespace troupe
