// In-graph replication: one graph with a copy of the net on each device, which share their
// weights. Each tower gets a part of the batch; the mean of their gradients is applied.
// Run: towers [DEVICES [STEPS]]
// Expect the loss of one tower on the whole batch, and w near 3 -2 1 0.

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

constexpr std::int64_t kRows = 240;

/// Loss, weights and an update, with the net on this many devices.
struct Towers {
  GraphPtr graph = std::make_shared<Graph>();
  Output x = placeholder(*graph, "x", DType::float32, {kRows, 4});
  Output y = placeholder(*graph, "y", DType::float32, {kRows, 1});
  Output w, loss, step;

  explicit Towers(int devices) {
    {
      const DeviceScope first(*graph, "/cpu:0");
      w = variable(*graph, "w", {4, 1}, init::zeros());
    }
    const auto xs = split(x, devices, 0);
    const auto ys = split(y, devices, 0);
    OutputList losses, found;
    for (int i = 0; i < devices; ++i) {
      const NameScope name(*graph, text("tower_", i));
      const DeviceScope device(*graph, text("/cpu:", i));
      losses.push_back(reduce_mean(square(matmul(xs[i], w) - ys[i])));
      found.push_back(gradients(losses.back(), {w})[0].dense());
    }
    const ColocationScope beside(*graph, w.node());
    loss = add_n(losses) * (1.0 / devices);
    step = assign_sub(w, add_n(found) * (0.1 / devices));
  }
};

double train(int devices, int steps) {
  const Towers net(devices);
  Tensor x(DType::float32, {kRows, 4}), y(DType::float32, {kRows, 1});
  RandomStream random(1);
  for (auto& value : x.write<float>()) value = static_cast<float>(random.normal());
  for (std::int64_t i = 0; i < kRows; ++i)
    y.write<float>()[i] =
        static_cast<float>(3 * x.at(4 * i) - 2 * x.at(4 * i + 1) + x.at(4 * i + 2));

  Session session(net.graph, {.devices = cpu_devices(devices)});
  session.initialize();
  double loss = 0;
  for (int i = 0; i < steps; ++i)
    loss = session.run({net.loss}, {{net.x, x}, {net.y, y}}, {net.step})[0].item();
  const auto w = session.variable("w");
  std::printf("%d towers: loss %.6f, w %.3f %.3f %.3f %.3f\n", devices, loss, w.at(0), w.at(1),
              w.at(2), w.at(3));
  return loss;
}

}  // namespace

int main(int argc, char** argv) try {
  const int devices = argc > 1 ? std::atoi(argv[1]) : 2;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 20;
  if (devices < 1 || kRows % devices != 0) {
    std::fprintf(stderr, "DEVICES must divide the %d rows of a batch\n", int{kRows});
    return 2;
  }
  const auto difference = train(devices, steps) - train(1, steps);
  return std::abs(difference) < 1e-4 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
