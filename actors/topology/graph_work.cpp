#include "troupe/actors/topology/graph_work.h"

#include <string_view>

#include "troupe/actors/training/fragments.h"
#include "troupe/devices/program.h"
#include "troupe/devices/subgraph.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

TensorSpec with_rows(const TensorSpec& spec, std::int64_t rows) {
  auto made = spec;
  for (int axis = 0; axis < made.shape.rank(); ++axis)
    if (made.shape[axis] == Shape::kUnknown) made.shape.set(axis, axis == 0 ? rows : 1);
  return made;
}

double volume(const Shape& shape, std::int64_t rows) {
  double product = 1;
  for (const auto extent : shape.extents())
    product *= static_cast<double>(extent == Shape::kUnknown ? rows : extent);
  return product;
}

/// Multiplications and additions of the products and convolutions that `output` needs.
double flops_of(Graph& graph, const Output& output, std::int64_t rows) {
  double sum = 0;
  for (const auto& needed : needed_nodes(graph, {}, {output})) {
    const auto& node = *needed.node;
    if (node.inputs.size() < 2 || node.outputs.empty()) continue;
    const auto& weights = node.inputs[1].shape();
    const auto& made = node.outputs[0].shape;
    const auto name = std::string_view(node.op->name);
    if (name == "matmul" && made.rank() == 2)
      sum += 2 * volume(node.inputs[0].shape(), rows) *
             static_cast<double>(made[1] == Shape::kUnknown ? rows : made[1]);
    else if (name == "conv2d" && weights.rank() == 4)
      sum += 2 * volume(made, rows) * volume(weights, 1) / static_cast<double>(weights[3]);
    else if (name == "depthwise_conv2d" && weights.rank() == 4)
      sum += 2 * volume(made, rows) * static_cast<double>(weights[0] * weights[1]);
  }
  return sum;
}

std::uint64_t arena_of(const FragmentSpec& spec, std::int64_t rows, ThreadBudget threads) {
  const auto subgraph = select_subgraph(spec);
  std::vector<TensorSpec> fed;
  for (const auto& feed : subgraph.feeds) fed.push_back(with_rows(feed.spec(), rows));
  std::vector<KernelPtr> kernels;
  const Program program(subgraph, fed, {threads.resolved().intra_op, 1}, kernels);
  return program.arena_bytes();
}

}  // namespace

GraphWork work_of_step(const Model& model, bool gradient_norm, std::int64_t rows,
                       ThreadBudget threads) {
  GraphWork work;
  constexpr double kForwardAndBack = 3;  // each product has two more on the way back
  work.flops = kForwardAndBack * flops_of(*model.graph, model.loss, rows);
  for (const auto& input : model.inputs)
    work.input_bytes +=
        static_cast<std::uint64_t>(volume(input.shape(), rows)) * size_of(input.dtype());
  const auto fragment = training_fragment(model, gradient_norm);
  work.arena_bytes = arena_of(fragment.spec, rows, threads);
  return work;
}

GraphWork work_of_stage(const StageProgram& program, std::int64_t rows, ThreadBudget threads) {
  GraphWork work;
  const auto& back = program.backward;
  // All but the last stage compute forward twice.
  const bool last = program.forward.graph == nullptr;
  const auto made =
      find_output(*back.graph, last ? back.fetches.at(0) : program.forward.fetches.at(0));
  work.flops = (last ? 3 : 4) * flops_of(*back.graph, made, rows);
  const auto input = find_output(*back.graph, back.feeds.at(0));
  work.input_bytes =
      static_cast<std::uint64_t>(volume(input.shape(), rows)) * size_of(input.dtype());
  work.arena_bytes = arena_of(back, rows, threads);
  return work;
}

std::uint64_t batch_total(const Batches& data) {
  std::uint64_t bytes = 0;
  for (const auto& component : data.components()) {
    if (!component.shape.known() || component.dtype == DType::string) return 0;
    bytes += static_cast<std::uint64_t>(component.shape.volume()) * size_of(component.dtype);
  }
  return bytes * static_cast<std::uint64_t>(data.total_examples());
}

}  // namespace troupe
