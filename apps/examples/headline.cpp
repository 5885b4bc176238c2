// The headline program: a CNN fed from two text files, zipped line by line, on all cores.
// Run: troupe make-data headline -d data && headline data
// Expect every core busy from the first step on, and a test loss that falls.

#include <cstdio>
#include <memory>
#include <string>

#include "troupe/actors/training/training.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/state.h"

using namespace troupe;

namespace {

Model model(bool training) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto features = placeholder(*m.graph, "features", DType::float32, {-1, 20, 195, 1});
  const auto labels = placeholder(*m.graph, "labels", DType::float32, {-1, 15});
  const auto xavier = init::xavier_normal();
  const nn::Conv2dOptions conv1{.name = "conv1",
                                .strides = {1, 5},
                                .activation = relu,
                                .kernel_initializer = xavier,
                                .l2 = 0.001};
  const nn::Conv2dOptions conv2{.name = "conv2",
                                .activation = relu,
                                .kernel_initializer = xavier,
                                .bias_initializer = init::constant(0.1),
                                .l2 = 0.001};
  const nn::DenseOptions hidden{
      .name = "fully_connected", .activation = relu, .kernel_initializer = xavier, .l2 = 0.004};
  const nn::DenseOptions last{.name = "identity", .kernel_initializer = xavier, .l2 = 0.004};
  const nn::Sequential net{
      nn::conv2d(5, {3, 30}, conv1), nn::max_pool(),
      nn::conv2d(5, {2, 2}, conv2),  nn::max_pool(),
      nn::dropout(0.5, training),    nn::flatten(),
      nn::dense(20, hidden),         nn::dense(15, last),
  };
  m.inputs = {features, labels};
  m.loss = nn::total_loss(nn::root_mean_squared_error(net(features), labels));
  return m;
}

Examples examples(const std::string& stem, std::int64_t epochs) {
  return read_text({stem + "features.txt"})
      .zip(read_text({stem + "labels.txt"}))
      .repeat(epochs)
      .decode({numbers({20, 195, 1}), numbers({15})}, {.block_records = 32});
}

}  // namespace

int main(int argc, char** argv) try {
  const auto folder = std::string(argc > 1 ? argv[1] : "data") + "/";
  const auto data = examples(folder, 0)
                        .shuffle({.capacity = 3'010, .min_after_dequeue = 10})
                        .batch(1'000, Remainder::drop);

  TrainingOptions options;
  options.optimizer = optim::momentum(0.8);
  options.learning_rate = schedule::exponential(0.1, 200, 0.8, true);
  options.max_steps = 3'300;
  options.gradient_norm = true;
  options.evaluation.data =
      examples(folder + "test_", 1).buffer(1'000).batch(1'000, Remainder::keep);
  options.evaluation.every = 1;
  options.evaluation.stop_below = 0.01;
  options.checkpoints.directory = "chkpts";
  options.checkpoints.every = 100;
  options.progress = [](const Progress& p) {
    if (p.training.empty() || p.evaluation.empty()) return;
    std::printf(
        "step %4lu: training loss %f, test loss %f, gradient %f; %.0f samples/s, %.2f cores\n",
        static_cast<unsigned long>(p.step), p.training[0], p.evaluation[0], p.training.back(),
        p.examples_per_second, p.cpu_use);
  };

  Training training(model, data, options);
  std::printf("%s\n", training.describe().c_str());
  const auto outcome = training.run();
  if (outcome.ending != Ending::failed) return 0;
  std::fprintf(stderr, "failed: %s\n", outcome.message.c_str());
  return 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
