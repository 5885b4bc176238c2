// One net on two devices: two towers that see half of the input each, and meet at the end.
// Run: model_parallel [STEPS]
// Expect the same losses on two devices as on one, 0.0105 at the end.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "troupe/actors/session.h"
#include "troupe/ops/array.h"
#include "troupe/ops/device_scope.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/random.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

using namespace troupe;

namespace {

struct Net {
  GraphPtr graph = std::make_shared<Graph>();
  Output x = placeholder(*graph, "x", DType::float32, {-1, 4});
  Output y = placeholder(*graph, "y", DType::float32, {-1, 1});
  Output loss, step;

  Net() {
    OutputList weights, halves;
    for (int i = 0; i < 2; ++i) {
      const NameScope name(*graph, text("tower_", i));
      const DeviceScope device(*graph, text("/cpu:", i));
      const auto half = slice(x, {0, 2 * i}, {-1, 2});
      const auto w1 = variable(*graph, "w1", {2, 32}, init::normal(0, 1));
      const auto w2 = variable(*graph, "w2", {32, 8}, init::normal(0, 0.3));
      halves.push_back(tanh(matmul(tanh(matmul(half, w1)), w2)));
      weights.insert(weights.end(), {w1, w2});
    }
    weights.push_back(variable(*graph, "w3", {16, 1}, init::normal(0, 0.3)));
    loss = reduce_mean(square(matmul(concat(halves, 1), weights.back()) - y));

    // The gradients run where the nodes do, the updates where the variables are.
    const auto found = gradients(loss, weights);
    OutputList updates;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const ColocationScope beside(*graph, weights[i].node());
      updates.push_back(assign_sub(weights[i], 0.1 * found[i].dense()));
    }
    step = group(*graph, updates);
  }
};

/// y = sin(x0 + x1) - sin(x2 + x3)
std::pair<Tensor, Tensor> examples(std::int64_t rows) {
  Tensor x(DType::float32, {rows, 4}), y(DType::float32, {rows, 1});
  RandomStream random(1);
  const auto in = x.write<float>();
  const auto out = y.write<float>();
  for (auto& value : in) value = static_cast<float>(random.normal());
  for (std::int64_t i = 0; i < rows; ++i)
    out[i] = std::sin(in[4 * i] + in[4 * i + 1]) - std::sin(in[4 * i + 2] + in[4 * i + 3]);
  return {x, y};
}

double train(int devices, int steps) {
  const Net net;
  SessionOptions options;
  options.devices = cpu_devices(devices);
  options.soft_placement = true;  // with one device, "/cpu:1" is the first one too
  Session session(net.graph, options);
  session.initialize();
  for (const auto* name : {"tower_0/matmul", "tower_1/matmul", "gradients/matmul"})
    std::printf("%s: %s\n", name, session.placement().name_of(*net.graph->find(name)).c_str());
  const auto [x, y] = examples(256);
  double loss = 0;
  for (int i = 1; i <= steps; ++i) {
    loss = session.run({net.loss}, {{net.x, x}, {net.y, y}}, {net.step})[0].item();
    if (i % (steps / 4) == 0) std::printf("%d devices, step %4d: loss %.4f\n", devices, i, loss);
  }
  return loss;
}

}  // namespace

int main(int argc, char** argv) try {
  const int steps = argc > 1 ? std::max(4, std::atoi(argv[1])) : 2'000;
  const auto two = train(2, steps);
  const auto one = train(1, steps);
  std::printf("two devices %.4f, one device %.4f\n", two, one);
  return std::abs(two - one) < 1e-3 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
