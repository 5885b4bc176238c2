#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "troupe/ops/error.h"
#include "troupe/ops/graph.h"
#include "troupe/ops/op.h"
#include "troupe/ops/state.h"

namespace troupe::test {

/// Runs a graph node by node: the plainest executor there can be, and the
/// reference for the real one. Outputs start as garbage, so that a kernel which
/// leaves a value out is found; a kernel that says it works in place is also run
/// in place and must give the same bits.
class Interpreter {
 public:
  Interpreter(const std::map<std::string, Tensor>& feeds, std::uint64_t seed, IntraOp& intra)
      : feeds_(feeds), seed_(seed), intra_(intra) {}

  TensorList run(const OutputList& fetches) {
    TensorList values;
    for (const auto& fetch : fetches) {
      const auto& node = fetch.node();
      run_up_to(node);
      values.push_back(node.outputs.empty() ? Tensor() : values_.at(node.id).at(fetch.index()));
    }
    return values;
  }

 private:
  void run_up_to(const Node& last) {
    std::vector<char> needed(last.id + 1, 0);
    needed[last.id] = 1;
    for (int id = last.id; id >= 0; --id) {
      const auto& node = last.graph->node(id);
      if (!needed[id] || feeds_.contains(node.name)) continue;
      for (const auto& input : node.inputs) needed[input.node().id] = 1;
      for (const auto* before : node.control_inputs) needed[before->id] = 1;
    }
    for (int id = 0; id <= last.id; ++id)
      if (needed[id] && !values_.contains(id)) values_[id] = evaluate(last.graph->node(id));
  }

  TensorList evaluate(Node& node) {
    if (const auto feed = feeds_.find(node.name); feed != feeds_.end()) return {feed->second};
    if (node.op->name == "variable") return {initial_value(Variable{&node}, seed_)};

    TensorList inputs;
    std::vector<TensorSpec> specs;
    for (const auto& input : node.inputs) {
      inputs.push_back(values_.at(input.node().id).at(input.index()));
      specs.push_back({inputs.back().dtype(), inputs.back().shape()});
    }
    const auto outputs = infer_outputs(node, specs);
    if (node.op->alias) return {inputs[0].reshape(outputs[0].shape)};
    if (node.op->cpu == nullptr)
      fail(Code::invalid_argument, "node '", node.name, "' (", node.op->name,
           ") has no CPU kernel and is not fed");

    const KernelInit init{node, specs, outputs, intra_.threads()};
    const auto kernel = node.op->cpu(init);
    std::vector<const void*> in;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      in.push_back(node.op->shape_only >> std::min<std::size_t>(i, 31) & 1 ? nullptr
                                                                           : inputs[i].data());
    auto results = garbage(outputs);
    run_once(*kernel, in, results);
    if (node.op->in_place) expect_same_in_place(node, *kernel, inputs, in, outputs, results);
    return results;
  }

  void run_once(Kernel& kernel, const std::vector<const void*>& in, TensorList& results) {
    std::vector<void*> out;
    for (auto& result : results) out.push_back(result.mutable_data());
    kernel.run(Run{in.data(), out.data(), intra_, seed_});
  }

  static TensorList garbage(const std::vector<TensorSpec>& specs) {
    TensorList tensors;
    for (const auto& [dtype, shape] : specs) {
      tensors.emplace_back(dtype, shape);
      if (dtype != DType::string && tensors.back().size() > 0)
        std::memset(tensors.back().mutable_data(), 0xA5, tensors.back().byte_size());
    }
    return tensors;
  }

  /// Once for every input that output 0 could be written over.
  void expect_same_in_place(const Node& node, Kernel& kernel, const TensorList& inputs,
                            const std::vector<const void*>& in,
                            const std::vector<TensorSpec>& specs, const TensorList& expected) {
    for (const auto& over : inputs) {
      if (over.byte_size() != expected[0].byte_size() || over.size() == 0) continue;
      auto results = garbage(specs);
      std::memcpy(results[0].mutable_data(), over.data(), over.byte_size());
      auto moved = in;
      for (auto& input : moved)
        if (input == over.data()) input = results[0].data();
      run_once(kernel, moved, results);
      for (std::size_t i = 0; i < results.size(); ++i)
        if (!same_bits(results[i], expected[i]))
          fail(Code::internal, "node '", node.name, "' (", node.op->name,
               ") gives another result when it works in place");
    }
  }

  const std::map<std::string, Tensor>& feeds_;
  std::uint64_t seed_;
  IntraOp& intra_;
  std::map<int, TensorList> values_;  // by node
};

/// The values of `fetches`. Feeds go by the name of the node, placeholders and
/// variables alike; a variable that is not fed has its initial value. A fetched
/// node without outputs (a group) gives an empty tensor.
inline TensorList run_graph(const OutputList& fetches,
                            const std::map<std::string, Tensor>& feeds = {}, std::uint64_t seed = 0,
                            IntraOp& intra = serial()) {
  return Interpreter(feeds, seed, intra).run(fetches);
}

/// The value of one output.
inline Tensor run_graph(const Output& fetch, const std::map<std::string, Tensor>& feeds = {},
                        std::uint64_t seed = 0, IntraOp& intra = serial()) {
  return run_graph(OutputList{fetch}, feeds, seed, intra)[0];
}

}  // namespace troupe::test
