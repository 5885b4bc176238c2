#include "troupe/devices/lowering.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "troupe/ops/op.h"

namespace troupe {
namespace {

// Larger results cost more memory than the time that folding saves.
constexpr std::size_t kMostFoldedBytes = std::size_t{64} << 10;

/// By bits: 0 and -0 are not the same, NaN is itself.
bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool same(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* tensor = std::get_if<Tensor>(&a)) return same_bits(*tensor, std::get<Tensor>(b));
  if (const auto* number = std::get_if<double>(&a)) return same(*number, std::get<double>(b));
  if (const auto* numbers = std::get_if<std::vector<double>>(&a))
    return std::ranges::equal(*numbers, std::get<std::vector<double>>(b),
                              [](double x, double y) { return same(x, y); });
  return a == b;
}

bool same(const Attributes& a, const Attributes& b) {
  return std::ranges::equal(a.all(), b.all(), [](const auto& x, const auto& y) {
    return x.first == y.first && same(x.second, y.second);
  });
}

const Tensor* constant_value(const Output& output) {
  const auto& node = output.node();
  if (node.op->name != "constant" || !node.control_inputs.empty()) return nullptr;
  return &node.attributes.get<Tensor>("value");
}

std::size_t bytes_of(const std::vector<TensorSpec>& specs) {
  std::size_t bytes = 0;
  for (const auto& [dtype, shape] : specs)
    bytes += static_cast<std::size_t>(shape.volume()) * size_of(dtype);
  return bytes;
}

/// Runs a node now. Empty when it has inputs that are not constant, when its
/// results are large, or when it fails: then it may fail again when it is run.
TensorList fold(const Node& node) {
  if (node.op->stateful || node.op->name == "constant" || node.outputs.empty() ||
      !node.control_inputs.empty() || bytes_of(node.outputs) > kMostFoldedBytes)
    return {};
  std::vector<const void*> inputs;
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto* value = reads_only_shape(node, i) ? nullptr : constant_value(node.inputs[i]);
    if (value == nullptr && !reads_only_shape(node, i)) return {};
    inputs.push_back(value ? value->data() : nullptr);
    specs.push_back(node.inputs[i].spec());
  }
  if (node.op->alias) return {constant_value(node.inputs[0])->reshape(node.outputs[0].shape)};
  try {
    TensorList results;
    std::vector<void*> outputs;
    for (const auto& [dtype, shape] : node.outputs) {
      results.push_back(Tensor::uninitialized(dtype, shape));
      outputs.push_back(results.back().mutable_data());
    }
    node.op->cpu({node, specs, node.outputs, 1})->run({inputs.data(), outputs.data(), serial()});
    return results;
  } catch (const std::exception&) {
    return {};
  }
}

class Lowering {
 public:
  Lowering(const Subgraph& from, std::span<const TensorSpec> fed)
      : values_(from.graph->nodes().size()) {
    to_.graph = std::make_unique<Graph>();
    for (std::size_t i = 0; i < from.feeds.size(); ++i) feed(from.feeds[i], fed[i]);
    for (auto* node : from.nodes) copy(*node);
    for (const auto& fetch : from.fetches) to_.fetches.push_back(at(fetch));
    for (const auto& streamed : from.streamed) to_.streamed.push_back(at(streamed));
    for (const auto* target : from.targets)
      if (auto* node = node_at(*target)) to_.targets.push_back(node);
  }

  LoweredGraph take() {
    to_.position.resize(to_.graph->nodes().size());
    std::iota(to_.position.begin(), to_.position.end(), 0);
    if (merged_ > 0) to_.notes.push_back(text(merged_, " nodes merged with equal ones"));
    if (folded_ > 0) to_.notes.push_back(text(folded_, " nodes folded into constants"));
    return std::move(to_);
  }

 private:
  void feed(const Output& output, const TensorSpec& spec) {
    const auto& node = output.node();
    auto attributes = node.op->name == "variable"
                          ? node.attributes
                          : Attributes{{"dtype", spec.dtype}, {"shape", spec.shape}};
    const auto* op = node.op->name == "variable" ? "variable" : "placeholder";
    auto& added = to_.graph->add(op, {}, std::move(attributes), output.name());
    set(output, added.output(0));
    to_.feeds.push_back(added.output(0));
  }

  void copy(Node& node) {
    OutputList inputs;
    for (const auto& input : node.inputs) inputs.push_back(at(input));
    std::vector<Node*> control;
    for (const auto* before : node.control_inputs)
      if (auto* mapped = node_at(*before)) control.push_back(mapped);
    if (auto* equal = control.empty() ? find_equal(node, inputs) : nullptr) {
      ++merged_;
      return set_all(node, *equal);
    }
    auto& added = to_.graph->add(node.op->name, inputs, node.attributes, node.name);
    added.control_inputs = std::move(control);
    const auto folded = fold(added);
    if (!folded.empty()) ++folded_;
    for (std::size_t i = 0; i < folded.size(); ++i)
      set(node.output(static_cast<int>(i)),
          to_.graph->add("constant", {}, {{"value", folded[i]}}, node.name).output(0));
    if (!folded.empty()) return;
    set_all(node, added);
    if (!node.op->stateful && added.control_inputs.empty())
      known_.emplace(hash(node, added.inputs), &added);
  }

  static std::size_t hash(const Node& node, const OutputList& inputs) {
    auto hash = std::hash<std::string_view>()(node.op->name);
    for (const auto& input : inputs)
      hash = hash * 31 + static_cast<std::size_t>(input.node().id * 7 + input.index());
    return hash;
  }

  Node* find_equal(const Node& node, const OutputList& inputs) {
    if (node.op->stateful) return nullptr;
    const auto [first, last] = known_.equal_range(hash(node, inputs));
    for (auto i = first; i != last; ++i) {
      auto& known = *i->second;
      if (known.op == node.op && known.inputs == inputs && same(known.attributes, node.attributes))
        return &known;
    }
    return nullptr;
  }

  void set(const Output& source, const Output& value) {
    auto& outputs = values_[source.node().id];
    outputs.resize(std::max<std::size_t>(outputs.size(), source.index() + 1));
    // A fed output stays what is fed when its node is copied for the sake of another output.
    if (!outputs[source.index()]) outputs[source.index()] = value;
  }
  void set_all(Node& source, Node& node) {
    const auto outputs = std::max<std::size_t>(node.outputs.size(), 1);
    for (std::size_t i = 0; i < outputs; ++i)
      set(source.output(static_cast<int>(i)), node.output(static_cast<int>(i)));
  }
  Output at(const Output& source) const { return values_[source.node().id].at(source.index()); }
  Node* node_at(const Node& source) const {
    const auto& outputs = values_[source.id];
    return outputs.empty() ? nullptr : &outputs[0].node();
  }

  LoweredGraph to_;
  std::vector<OutputList> values_;  // by node of the source and output
  std::unordered_multimap<std::size_t, Node*> known_;
  int merged_ = 0;
  int folded_ = 0;
};

}  // namespace

bool LoweredGraph::leaves(const Output& output) const {
  return std::ranges::find(fetches, output) != fetches.end() ||
         std::ranges::find(streamed, output) != streamed.end();
}

bool LoweredGraph::is_target(const Node& node) const {
  return std::ranges::find(targets, &node) != targets.end();
}

Output root(Output output) {
  while (output.node().op->alias) output = output.node().inputs[0];
  return output;
}

LoweredGraph lower(const Subgraph& subgraph, std::span<const TensorSpec> fed) {
  return Lowering(subgraph, fed).take();
}

bool reads_only_shape(const Node& node, std::size_t input) {
  // The last bit stands for all inputs from there on.
  return (node.op->shape_only >> std::min<std::size_t>(input, 31) & 1) != 0;
}

std::vector<char> live_nodes(const LoweredGraph& lowered) {
  std::vector<char> live(lowered.graph->nodes().size(), 0);
  std::vector<const Node*> open;
  const auto need = [&](const Node& node) {
    if (!live[node.id]) open.push_back(&node);
    live[node.id] = 1;
  };
  for (const auto& output : lowered.fetches) need(output.node());
  for (const auto& output : lowered.streamed) need(output.node());
  for (const auto* target : lowered.targets) need(*target);
  while (!open.empty()) {
    const auto& node = *open.back();
    open.pop_back();
    for_each_value_input(node, [&](const Output& input) { need(input.node()); });
    for (const auto* before : node.control_inputs) need(*before);
  }
  return live;
}

}  // namespace troupe
