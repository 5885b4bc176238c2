#include "troupe/devices/fusion.h"

#include "troupe/devices/gradient_fusion.h"
#include "troupe/devices/rewriter.h"
#include "troupe/ops/catalog.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

class Fuser : Rewriter {
 public:
  explicit Fuser(LoweredGraph& lowered) : Rewriter(lowered) {}

  bool fuse_one() {
    for (std::size_t id = 0; id < live().size(); ++id) {
      auto& node = lowered_.graph->node(static_cast<int>(id));
      if (live()[id] && (fuse_first_layer(node) || fuse_bias(node))) return true;
    }
    return false;
  }

 private:
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

  /// conv2d of one channel, bias, relu and max_pool, and the whole way back.
  struct FirstLayer {
    Node* convolution = nullptr;
    Node* bias = nullptr;
    Node* relu = nullptr;
    Node* pool = nullptr;
    Node* pool_gradient = nullptr;  // these four only in training
    Node* relu_gradient = nullptr;
    Node* bias_gradient = nullptr;
    Node* filter_gradient = nullptr;
  };

  static bool has_pair(const Node& node, std::string_view attribute, std::int64_t height,
                       std::int64_t width) {
    return node.attributes.get_or(attribute, std::vector<std::int64_t>{1, 1}) ==
           std::vector<std::int64_t>{height, width};
  }
  static bool is_valid(const Node& node) {
    return node.attributes.get_or("padding", std::string()) == "VALID";
  }

  bool find_forward(Node& node, FirstLayer& layer) const {
    if (node.op->name != "conv2d" || !is_valid(node) || !has_pair(node, "dilations", 1, 1))
      return false;
    layer.convolution = &node;
    layer.bias = only_user(node, "bias_add");
    layer.relu = layer.bias ? only_user(*layer.bias, "relu") : nullptr;
    if (!layer.relu || is_awaited(*layer.relu) || lowered_.is_target(*layer.relu) ||
        lowered_.leaves(layer.relu->output(0)))
      return false;
    for (auto* user : users_of(layer.relu->output(0))) {
      if (user->op->name == "max_pool" && !layer.pool)
        layer.pool = user;
      else if (user->op->name == "max_pool_grad" && !layer.pool_gradient)
        layer.pool_gradient = user;
      else if (user->op->name == "relu_grad" && !layer.relu_gradient)
        layer.relu_gradient = user;
      else
        return false;
    }
    return layer.pool && is_valid(*layer.pool) && has_pair(*layer.pool, "window", 2, 2) &&
           has_pair(*layer.pool, "strides", 2, 2) && layer.pool->control_inputs.empty() &&
           !layer.pool_gradient == !layer.relu_gradient;
  }

  bool find_backward(FirstLayer& layer) const {
    if (!layer.pool_gradient) return true;
    if (layer.pool_gradient->inputs[1] != layer.pool->output(0) ||
        only_user(*layer.pool_gradient) != layer.relu_gradient ||
        layer.relu_gradient->inputs[0] != layer.pool_gradient->output(0))
      return false;
    const auto gradient = layer.relu_gradient->output(0);
    if (lowered_.leaves(gradient) || lowered_.is_target(*layer.relu_gradient)) return false;
    for (auto* user : users_of(gradient)) {
      if (user->op->name == "bias_add_grad" && !layer.bias_gradient)
        layer.bias_gradient = user;
      else if (user->op->name == "conv2d_backprop_filter" && !layer.filter_gradient)
        layer.filter_gradient = user;
      else
        return false;
    }
    return layer.bias_gradient && layer.filter_gradient &&
           layer.filter_gradient->inputs[0] == layer.convolution->inputs[0];
  }

  bool fuse_first_layer(Node& node) {
    FirstLayer layer;
    if (!find_forward(node, layer) || !find_backward(layer)) return false;
    const auto images = node.inputs[0];
    const auto weights = node.inputs[1];
    const auto bias = layer.bias->inputs[1];
    const Attributes attributes{
        {"strides", node.attributes.get_or("strides", std::vector<std::int64_t>{1, 1})}};
    Node* forward = nullptr;
    try {
      forward = &add_at(*layer.pool, "fused_conv_bias_relu_pool", {images, weights, bias},
                        attributes, node.name + "+pool");
    } catch (const Error&) {
      return false;  // sizes that have no kernel of their own
    }
    forward->control_inputs = node.control_inputs;
    redirect(layer.pool->output(0), forward->output(0));
    lowered_.notes.push_back(text(node.name, " + bias + relu + pool -> ", forward->op->name));
    if (!layer.pool_gradient) return true;

    auto backward_attributes = attributes;
    backward_attributes.set("kernel",
                            std::vector<std::int64_t>{weights.shape()[0], weights.shape()[1]});
    auto& backward = add_at(*layer.relu_gradient, "fused_conv_bias_relu_pool_grad",
                            {images, forward->output(1), layer.pool_gradient->inputs[2]},
                            backward_attributes, layer.filter_gradient->name + "+pool");
    redirect(layer.filter_gradient->output(0), backward.output(0));
    redirect(layer.bias_gradient->output(0), backward.output(1));
    lowered_.notes.push_back(
        text(layer.filter_gradient->name, " + bias + relu + pool -> ", backward.op->name));
    return true;
  }

  /// Puts one node in the place of a chain, whose last node gives the value.
  void replace(const std::vector<Node*>& chain, const std::string& op, OutputList inputs,
               Attributes attributes) {
    std::string name;
    for (const auto* node : chain) name += text(name.empty() ? "" : "+", node->name);
    auto& last = *chain.back();
    auto& fused = add_at(last, op, std::move(inputs), std::move(attributes), name);
    fused.control_inputs = chain.front()->control_inputs;
    redirect(last.output(0), fused.output(0));
    lowered_.notes.push_back(text(name, " -> ", op));
  }
};

}  // namespace

void fuse(LoweredGraph& lowered) {
  while (Fuser(lowered).fuse_one()) {
  }
  fuse_gradients(lowered);
}

}  // namespace troupe
