// A program of a user: builds a small graph, keeps a checkpoint of its variable.
#include <iostream>

#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/checkpoint_writer.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/graph.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/state.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    troupe::Graph graph;
    const auto x =
        troupe::placeholder(graph, "x", troupe::DType::float32, {troupe::Shape::kUnknown, 3});
    const auto w = troupe::constant(graph, troupe::Tensor(troupe::DType::float32, {3, 2}), "w");
    const auto y = troupe::matmul(x, w);
    std::cout << y.name() << " has shape " << y.shape() << '\n';

    troupe::CheckpointWriter writer(argv[1]);
    troupe::Manifest manifest;
    manifest.step = 1;
    manifest.files = {troupe::write_shard(writer.directory(), 1, 0, 1,
                                          {{"w", troupe::TensorKind::variable, "", "",
                                            troupe::Tensor::filled(x.dtype(), {3, 2}, 0.5)}})};
    writer.publish(manifest);
    std::cout << "read again: " << troupe::Checkpoint::open(argv[1]).read("w") << '\n';

    std::cout << "CPUs: " << troupe::schedulable_cpus() << '\n';
  } catch (const troupe::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
