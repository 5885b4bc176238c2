// The program of README.md: fits y = 2 x + 1 and keeps what it has learnt.
#include <troupe/actors/checkpoint/checkpoint_writer.h>
#include <troupe/actors/session.h>
#include <troupe/ops/elementwise.h>
#include <troupe/ops/gradient.h>
#include <troupe/ops/reductions.h>
#include <troupe/ops/state.h>

#include <iostream>

using namespace troupe;

int main() {
  const auto graph = std::make_shared<Graph>();
  const auto x = placeholder(*graph, "x", DType::float32, {Shape::kUnknown});
  const auto y = placeholder(*graph, "y", DType::float32, {Shape::kUnknown});
  const auto w = variable(*graph, "w", {}, init::constant(0));
  const auto b = variable(*graph, "b", {}, init::constant(0));
  const auto loss = reduce_mean(square(w * x + b - y));
  const auto gradient = gradients(loss, {w, b});
  const auto step = group(
      *graph, {assign_sub(w, 0.1 * gradient[0].values), assign_sub(b, 0.1 * gradient[1].values)});

  Session session(graph);
  session.initialize();
  const auto xs = Tensor::of<float>({4}, {-1, 0, 1, 2});
  const auto ys = Tensor::of<float>({4}, {-1, 1, 3, 5});
  for (int i = 0; i < 200; ++i) session.run({loss}, {{x, xs}, {y, ys}}, {step});
  std::cout << "w " << session.variable("w").item() << ", b " << session.variable("b").item()
            << '\n';

  CheckpointWriter writer("run");
  Manifest manifest{.step = 200};
  manifest.files = {write_shard("run", 200, 0, 1,
                                {{"w", TensorKind::variable, "", "", session.variable("w")},
                                 {"b", TensorKind::variable, "", "", session.variable("b")}})};
  writer.publish(manifest);  // python3: safetensors.numpy.load_file("run/ckpt-200....safetensors")
}
