// A CNN on Fashion-MNIST: reader -> decoders -> shuffle queue -> replicas <-> parameter shards.
// Run: fashion_mnist [REPLICAS [SHARDS]]
// Expect a test accuracy of about 0.90 after three epochs.

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "troupe/actors/training/training.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/metrics.h"
#include "troupe/ops/state.h"

using namespace troupe;

namespace {

const std::string kData = "/usr/share/datasets/fashion-mnist/";  // Debian: dataset-fashion-mnist

Model model(bool training) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto images = placeholder(*m.graph, "images", DType::float32, {-1, 28, 28, 1});
  const auto labels = placeholder(*m.graph, "labels", DType::int64, {-1});
  const nn::Sequential net{
      nn::conv2d(32, {5, 5}, {.name = "conv1", .padding = Padding::same, .activation = relu}),
      nn::max_pool(),
      nn::conv2d(64, {5, 5}, {.name = "conv2", .padding = Padding::same, .activation = relu}),
      nn::max_pool(),
      nn::flatten(),
      nn::dense(256, {.name = "fc1", .activation = relu}),
      nn::dropout(0.4, training),
      nn::dense(10, {.name = "logits"}),
  };
  const auto logits = net(images);
  m.inputs = {images, labels};
  m.loss = nn::cross_entropy(logits, labels);
  m.metrics = {{"accuracy", nn::accuracy(logits, labels)}};
  m.predictions = logits;
  return m;
}

Examples examples(const std::string& images, const std::string& labels, std::int64_t epochs) {
  return read_idx(images)
      .zip(read_idx(labels))
      .repeat(epochs)
      .decode({idx_pixels(images), idx_labels(labels)});
}

}  // namespace

int main(int argc, char** argv) try {
  const auto training_set =
      examples(kData + "train-images-idx3-ubyte.gz", kData + "train-labels-idx1-ubyte.gz", 3)
          .shuffle({.capacity = 8'000, .min_after_dequeue = 5'000})
          .batch(100, Remainder::drop);
  const auto test_set =
      examples(kData + "t10k-images-idx3-ubyte.gz", kData + "t10k-labels-idx1-ubyte.gz", 1)
          .buffer(2'000)
          .batch(1'000, Remainder::keep);

  TrainingOptions options;
  options.optimizer = optim::momentum(0.9);
  options.learning_rate = schedule::cosine(0.03, 1'800);
  options.replicas = argc > 1 ? std::atoi(argv[1]) : 1;
  options.shards = argc > 2 ? std::atoi(argv[2]) : 1;
  options.evaluation.data = test_set;
  options.progress = [](const Progress& p) {
    if (p.training.size() > 1)
      std::printf("step %5lu  loss %.3f  accuracy %.3f  %.0f samples/s\n",
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
