#include "troupe/ops/gradient.h"

#include <algorithm>
#include <unordered_map>

#include "troupe/ops/device_scope.h"
#include "troupe/ops/error.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

/// The sum of the gradients that arrive at one value.
Gradient sum(const GradientList& parts) {
  if (parts.size() == 1) return parts[0];
  auto& graph = parts[0].values.graph();
  if (std::ranges::all_of(parts, [](const auto& g) { return g.is_sparse(); })) {
    OutputList indices, rows;
    for (const auto& part : parts) {
      indices.push_back(part.indices);
      rows.push_back(part.values);
    }
    const Attributes axis{{"axis", 0}};
    return Gradient::sparse(graph.add("concat", indices, axis).output(0),
                            graph.add("concat", rows, axis).output(0), parts[0].shape);
  }
  OutputList dense;
  for (const auto& part : parts) dense.push_back(part.dense());
  return graph.add("add_n", dense).output(0);
}

class Accumulator {
 public:
  explicit Accumulator(int nodes) : parts_(nodes) {}

  void add(const Output& value, const Gradient& gradient) {
    auto& outputs = parts_[value.node().id];
    outputs.resize(value.node().outputs.size());
    outputs[value.index()].push_back(gradient);
  }

  /// Sums once; later calls give the same output.
  Gradient total(const Output& value) {
    auto& outputs = parts_[value.node().id];
    if (static_cast<int>(outputs.size()) <= value.index() || outputs[value.index()].empty())
      return {};
    auto& parts = outputs[value.index()];
    parts = {sum(parts)};
    return parts[0];
  }

 private:
  std::vector<std::vector<GradientList>> parts_;  // by node and output
};

/// Which nodes lie between the values and the loss.
std::vector<char> on_a_path(Node& loss, const OutputList& values) {
  const int count = loss.id + 1;
  std::vector<char> depends(count, 0);
  for (const auto& value : values)
    if (value.node().id < count) depends[value.node().id] = 1;
  auto& graph = *loss.graph;
  for (int id = 0; id < count; ++id)
    for (const auto& input : graph.node(id).inputs) depends[id] |= depends[input.node().id];
  std::vector<char> needed(count, 0);
  needed[loss.id] = 1;
  for (int id = loss.id; id >= 0; --id)
    if (needed[id])
      for (const auto& input : graph.node(id).inputs) needed[input.node().id] = 1;
  for (int id = 0; id < count; ++id) depends[id] &= needed[id];
  return depends;
}

void expect_scalar(const Output& loss) {
  if (loss.shape().rank() != 0 || !is_floating(loss.dtype()))
    fail(Code::invalid_argument, "gradients need a loss that is one floating number, but '",
         loss.name(), "' is ", loss.spec(), "; use reduce_mean or reduce_sum");
}

}  // namespace

Output Gradient::dense() const {
  if (!is_sparse()) return values;
  return values.graph().add("scatter_rows", {indices, values}, {{"shape", shape}}).output(0);
}

Output Backward::dy(int i) const {
  if (dy_.at(i)) return dy_[i];
  return graph().add("zeros_like", {y(i)}).output(0);
}

GradientList gradients(Output loss, const OutputList& with_respect_to) {
  expect_scalar(loss);
  auto& graph = loss.graph();
  auto& last = loss.node();
  const auto involved = on_a_path(last, with_respect_to);
  const NameScope scope(graph, "gradients");

  Accumulator accumulated(last.id + 1);
  const auto one = Tensor::filled(loss.dtype(), {}, 1);
  {
    const ColocationScope beside(graph, last);
    accumulated.add(loss, graph.add("constant", {}, {{"value", one}}, "seed").output(0));
  }

  for (int id = last.id; id >= 0; --id) {
    auto& node = graph.node(id);
    if (!involved[id] || node.inputs.empty()) continue;
    if (std::ranges::none_of(node.inputs, [&](const auto& in) { return involved[in.node().id]; }))
      continue;
    const ColocationScope beside(graph, node);
    std::vector<Output> dy;
    bool any = false;
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
      const auto total = accumulated.total({node, i});
      dy.push_back(total ? total.dense() : Output());
      any |= static_cast<bool>(total);
    }
    if (!any) continue;
    if (node.op->gradient == nullptr)
      fail(Code::unimplemented, "no gradient flows through node '", node.name, "': the op ",
           node.op->name,
           " is not differentiable; put stop_gradient in front of it if that is meant");
    const auto dx = node.op->gradient(Backward(node, std::move(dy)));
    if (dx.size() != node.inputs.size())
      fail(Code::internal, "the gradient of ", node.op->name, " has ", dx.size(), " entries for ",
           node.inputs.size(), " inputs");
    for (std::size_t i = 0; i < dx.size(); ++i)
      if (dx[i] && involved[node.inputs[i].node().id]) accumulated.add(node.inputs[i], dx[i]);
  }

  GradientList result;
  for (const auto& value : with_respect_to) {
    const ColocationScope beside(graph, value.node());
    result.push_back(value.node().id <= last.id ? accumulated.total(value) : Gradient());
  }
  return result;
}

}  // namespace troupe
