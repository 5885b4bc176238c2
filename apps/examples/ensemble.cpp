// Three models of different kinds, trained on Fashion-MNIST, answer together.
// Run: ensemble [DIRECTORY [STEPS]]
// Expect the accuracy of each member, and a better one of the three together.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "troupe/actors/ensemble/model_ensemble.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/training/training.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/state.h"

using namespace troupe;

namespace {

const std::string kData = "/usr/share/datasets/fashion-mnist/";  // Debian: dataset-fashion-mnist

/// A model around layers that make 10 logits of images.
ModelFunction classifier(std::function<nn::Sequential()> layers) {
  return [layers](bool) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto images = placeholder(*m.graph, "images", DType::float32, {-1, 28, 28, 1});
    const auto labels = placeholder(*m.graph, "labels", DType::int64, {-1});
    m.predictions = layers()(images);
    m.inputs = {images, labels};
    m.loss = nn::cross_entropy(m.predictions, labels);
    return m;
  };
}

nn::Sequential perceptron() {
  return {nn::flatten(), nn::dense(128, {.activation = relu}), nn::dense(10)};
}
nn::Sequential convolution(std::int64_t width) {
  return {nn::conv2d(16, {width, width}, {.padding = Padding::same, .activation = relu}),
          nn::max_pool(), nn::flatten(), nn::dense(10)};
}

const std::map<std::string, ModelFunction> kMembers{
    {"mlp", classifier(perceptron)},
    {"cnn3", classifier([] { return convolution(3); })},
    {"cnn5", classifier([] { return convolution(5); })},
};

Examples examples(const std::string& set, std::int64_t epochs) {
  const auto images = kData + set + "-images-idx3-ubyte.gz";
  const auto labels = kData + set + "-labels-idx1-ubyte.gz";
  return read_idx(images)
      .zip(read_idx(labels))
      .repeat(epochs)
      .decode({idx_pixels(images), idx_labels(labels)});
}

void train(const std::string& name, const std::string& directory, std::uint64_t steps) {
  TrainingOptions options;
  options.optimizer = optim::adam();
  options.learning_rate = 0.001;
  options.max_steps = steps;
  options.checkpoints.directory = directory;
  Training training(kMembers.at(name),
                    examples("train", 100).shuffle({}).batch(100, Remainder::drop), options);
  const auto outcome = training.run();
  if (outcome.ending == Ending::failed) fail(outcome.code, outcome.message);
  std::printf("%-8s trained, %lu steps\n", name.c_str(), static_cast<unsigned long>(steps));
}

/// The share of the test set that all members of the ensemble together get right.
double accuracy(ModelEnsemble& ensemble) {
  BatchIterator batches(examples("t10k", 1).buffer(2000).batch(1000, Remainder::keep));
  double right = 0, all = 0;
  while (const auto batch = batches.next()) {
    const auto answer = ensemble.run({batch->components[0]});
    const auto shares = answer.outputs[0].read<float>();
    const auto labels = batch->components[1].read<std::int64_t>();
    for (std::size_t i = 0; i < labels.size(); ++i, ++all)
      right +=
          std::max_element(&shares[10 * i], &shares[10 * i] + 10) - &shares[10 * i] == labels[i];
  }
  return right / all;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string directory = argc > 1 ? argv[1] : "run/ensemble";
  const std::uint64_t steps = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1200;
  ModelEnsemble together({.combiner = probability_combiner()});
  for (const auto& [name, model] : kMembers) {
    train(name, directory + "/" + name, steps);
    ModelEnsemble alone({.combiner = probability_combiner()});
    alone.join(name, model, directory + "/" + name);
    std::printf("%-8s accuracy %.4f\n", name.c_str(), accuracy(alone));
    together.join(name, model, directory + "/" + name);
  }
  std::printf("%-8s accuracy %.4f\n", "together", accuracy(together));
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
