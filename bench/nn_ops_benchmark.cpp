// The layers of the headline CNN, LeNet, the CIFAR-10 tutorial and the MLP, each op by itself,
// forward and backward, on one and two threads.
//
//   build/bench/bench/nn_ops_benchmark --benchmark_filter=conv

#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "troupe/devices/intra_op_pool.h"
#include "troupe/ops/convolution.h"
#include "troupe/ops/initializers.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/op.h"
#include "troupe/ops/pooling.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

IntraOp& threads(int count) {
  static std::map<int, std::unique_ptr<IntraOpPool>> pools;
  auto& pool = pools[count];
  if (!pool) pool = std::make_unique<IntraOpPool>("bench", count);
  return *pool;
}

/// Runs one node over and over on random values.
void run_node(benchmark::State& state, Node& node, double flop) {
  auto& intra = threads(static_cast<int>(state.range(0)));
  TensorList tensors;
  std::vector<TensorSpec> specs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const auto& input : node.inputs) specs.push_back(input.spec());
  const auto outputs = infer_outputs(node, specs);
  tensors.reserve(specs.size() + outputs.size());
  for (const auto& spec : specs) {
    tensors.push_back(is_floating(spec.dtype)
                          ? evaluate(init::normal(0, 1), spec.dtype, spec.shape, "x", in.size())
                          : Tensor(spec.dtype, spec.shape));
    in.push_back(tensors.back().data());
  }
  for (const auto& spec : outputs) {
    tensors.emplace_back(spec.dtype, spec.shape);
    out.push_back(tensors.back().mutable_data());
  }
  const auto kernel = node.op->cpu(KernelInit{node, specs, outputs, intra.threads()});
  for (auto _ : state) kernel->run(Run{in.data(), out.data(), intra});
  if (flop > 0)
    state.counters["GFLOP/s"] =
        benchmark::Counter(flop * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

/// Registers the op that `build` makes, and those of its gradient.
void add(const std::string& name, const std::function<Output(Graph&)>& build, double flop = 0) {
  auto graph = std::make_shared<Graph>();
  auto& node = build(*graph).node();
  OutputList dy(node.outputs.size());
  dy[0] = placeholder(*graph, "dy", node.outputs[0].dtype, node.outputs[0].shape);
  std::vector<Node*> nodes{&node};
  if (node.op->gradient != nullptr)
    for (const auto& gradient : node.op->gradient(Backward(node, dy)))
      if (gradient && std::ranges::find(nodes, &gradient.values.node()) == nodes.end() &&
          gradient.values.node().op->cpu != nullptr)
        nodes.push_back(&gradient.values.node());
  for (auto* one : nodes)
    benchmark::RegisterBenchmark(
        (name + "/" + std::string(one->name)).c_str(),
        [graph, one, flop](benchmark::State& state) { run_node(state, *one, flop); })
        ->ArgName("threads")
        ->Arg(1)
        ->Arg(2)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
}

Output input(Graph& graph, const Shape& shape) {
  return placeholder(graph, "in", DType::float32, shape);
}

void add_convolution(const std::string& name, const Shape& images, const Shape& filter,
                     const ConvolutionOptions& options) {
  Graph probe;
  const auto y = conv2d(input(probe, images), input(probe, filter), options).shape();
  const auto flop = 2.0 * static_cast<double>(y.volume() * filter[0] * filter[1] * filter[2]);
  add(
      name, [=](Graph& g) { return conv2d(input(g, images), input(g, filter), options); }, flop);
}

void add_pooling(const std::string& name, const Shape& images, const PoolingOptions& options) {
  add(name, [=](Graph& g) { return max_pool(input(g, images), options); });
}

void add_matmul(const std::string& name, std::int64_t m, std::int64_t k, std::int64_t n) {
  add(
      name,
      [=](Graph& g) {
        return matmul(input(g, {m, k}), input(g, {k, n}));
      },
      2.0 * static_cast<double>(m * n * k));
}

void add_all() {
  const ConvolutionOptions same{.padding = Padding::same};
  add_convolution("headline.conv1", {1000, 20, 195, 1}, {3, 30, 1, 5}, {.strides = {1, 5}});
  add("headline.conv1+pool1", [](Graph& g) {
    return g
        .add("fused_conv_bias_relu_pool",
             {input(g, {1000, 20, 195, 1}), input(g, {3, 30, 1, 5}), input(g, {5})},
             {{"strides", std::vector<std::int64_t>{1, 5}}})
        .output(0);
  });
  add("headline.conv1+pool1", [](Graph& g) {
    return g
        .add(
            "fused_conv_bias_relu_pool_grad",
            {input(g, {1000, 20, 195, 1}),
             placeholder(g, "winners", DType::uint8, {1000, 9, 17, 5}), input(g, {1000, 9, 17, 5})},
            {{"strides", std::vector<std::int64_t>{1, 5}},
             {"kernel", std::vector<std::int64_t>{3, 30}}})
        .output(0);
  });
  add_convolution("headline.conv2", {1000, 9, 17, 5}, {2, 2, 5, 5}, {});
  add_convolution("lenet.conv1", {100, 28, 28, 1}, {5, 5, 1, 32}, same);
  add_convolution("lenet.conv2", {100, 14, 14, 32}, {5, 5, 32, 64}, same);
  add_convolution("cifar.conv1", {128, 24, 24, 3}, {5, 5, 3, 64}, same);
  add_convolution("cifar.conv2", {128, 12, 12, 64}, {5, 5, 64, 64}, same);

  const PoolingOptions overlapping{.window = {3, 3}, .strides = {2, 2}, .padding = Padding::same};
  add_pooling("headline.pool1", {1000, 18, 34, 5}, {});
  add_pooling("headline.pool2", {1000, 8, 16, 5}, {});
  add_pooling("lenet.pool1", {100, 28, 28, 32}, {});
  add_pooling("lenet.pool2", {100, 14, 14, 64}, {});
  add_pooling("cifar.pool1", {128, 24, 24, 64}, overlapping);
  add_pooling("cifar.pool2", {128, 12, 12, 64}, overlapping);

  add("cifar.lrn", [](Graph& g) {
    return lrn(input(g, {128, 12, 12, 64}),
               {.depth_radius = 4, .bias = 1, .alpha = 0.001 / 9, .beta = 0.75});
  });
  add("batch_norm", [](Graph& g) {
    return batch_norm(input(g, {128, 24, 24, 64}), input(g, {64}), input(g, {64})).y;
  });
  add("bias.cifar1", [](Graph& g) {
    return bias_add(input(g, {128, 24, 24, 64}), input(g, {64}));
  });
  add("bias.headline1", [](Graph& g) {
    return bias_add(input(g, {1000, 18, 34, 5}), input(g, {5}));
  });
  add("softmax", [](Graph& g) { return softmax(input(g, {128, 1000})); });

  add_matmul("headline.fc1", 1000, 160, 20);
  add_matmul("lenet.fc1", 100, 3136, 1024);
  add_matmul("cifar.fc1", 128, 2304, 384);
  add_matmul("mlp.fc1", 256, 784, 2048);
  add_matmul("mlp.fc2", 256, 2048, 2048);
  add_matmul("tiny", 1, 10, 10);
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  troupe::add_all();
  benchmark::RunSpecifiedBenchmarks();
}
