// The CNN of TensorFlow's CIFAR-10 tutorial: fixed-length records, distorted images, averaged
// weights. Run: troupe make-data cifar10 -d data && cifar10 data [REPLICAS [STEPS]] Expect a loss
// that falls from 4.7; on the real images about 0.86 of them right after 100,000 steps.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "troupe/actors/pipeline/images.h"
#include "troupe/actors/training/training.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/metrics.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/state.h"

using namespace troupe;

namespace {

nn::Layer convolution(const std::string& name, double bias) {
  return nn::conv2d(64, {5, 5},
                    {.name = name,
                     .padding = Padding::same,
                     .activation = relu,
                     .kernel_initializer = init::truncated_normal(0, 0.05),
                     .bias_initializer = init::constant(bias)});
}

nn::Layer hidden(const std::string& name, std::int64_t units) {
  return nn::dense(units, {.name = name,
                           .activation = relu,
                           .kernel_initializer = init::truncated_normal(0, 0.04),
                           .bias_initializer = init::constant(0.1),
                           .l2 = 0.004});
}

Model model(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto images = placeholder(*m.graph, "images", DType::float32, {-1, 24, 24, 3});
  const auto labels = placeholder(*m.graph, "labels", DType::int64, {-1});
  const auto pool = nn::max_pool({.window = {3, 3}, .strides = {2, 2}, .padding = Padding::same});
  const nn::Layer normalize = [](Output x) {
    return lrn(x, {.depth_radius = 4, .bias = 1, .alpha = 0.001 / 9, .beta = 0.75});
  };
  const nn::Sequential net{
      convolution("conv1", 0),
      pool,
      normalize,
      convolution("conv2", 0.1),
      normalize,
      pool,
      nn::flatten(),
      hidden("local3", 384),
      hidden("local4", 192),
      nn::dense(10, {.name = "softmax_linear",
                     .kernel_initializer = init::truncated_normal(0, 1.0 / 192)}),
  };
  const auto logits = net(images);
  m.inputs = {images, labels};
  // Weight decay included; a loss that is not a number ends the run.
  m.loss = check_numerics(nn::total_loss(nn::cross_entropy(logits, labels)), "the loss");
  m.metrics = {{"accuracy", nn::accuracy(logits, labels)}};
  return m;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "data";
  constexpr std::uint64_t kSeed = 1;
  constexpr std::int64_t kBatch = 128;
  const auto records = read_cifar10({folder + "/data_batch_*.bin"});
  const auto floor = records.count() * 2 / 5;
  const auto training_set =
      records.repeat(0, kSeed)
          .decode({distort(cifar10(), cifar10_steps(true), kSeed)})
          .shuffle({.capacity = floor + 3 * kBatch, .min_after_dequeue = floor})
          .batch(kBatch, Remainder::drop);
  const auto test_set = read_cifar10({folder + "/test_batch.bin"})
                            .decode({distort(cifar10(), cifar10_steps(false), kSeed)})
                            .buffer(1'000)
                            .batch(500, Remainder::keep);

  TrainingOptions options;
  options.optimizer = optim::sgd();
  options.learning_rate =
      schedule::exponential(0.1, static_cast<double>(records.count() * 350 / kBatch), 0.1, true);
  options.average_decay = 0.9999;  // evaluation and checkpoints have the averages
  options.replicas = argc > 2 ? std::atoi(argv[2]) : 1;
  options.max_steps = argc > 3 ? static_cast<std::uint64_t>(std::atoll(argv[3])) : 100'000;
  options.evaluation.data = test_set;
  options.evaluation.every = 1'000;
  options.checkpoints.directory = "run/cifar10-example";
  options.checkpoints.every = 1'000;
  options.progress = [](const Progress& p) {
    if (p.training.size() > 1)
      std::printf("step %6lu  loss %.3f  accuracy %.3f  %.0f images/s\n",
                  static_cast<unsigned long>(p.step), p.training[0], p.training[1],
                  p.examples_per_second);
  };

  Training training(model, training_set, options);
  std::printf("%s\n", training.describe().c_str());
  const auto outcome = training.run();
  if (outcome.ending == Ending::failed) {
    std::fprintf(stderr, "failed: %s\n", outcome.message.c_str());
    return 1;
  }
  std::printf("test: loss %.3f, accuracy %.4f\n", outcome.evaluation.at(0),
              outcome.evaluation.at(1));
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
