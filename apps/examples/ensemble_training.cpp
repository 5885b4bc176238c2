// Three models of different kinds learn side by side from one stream of batches, which is read
// once, and then answer together.
// Run: ensemble_training [DIRECTORY [STEPS]]
// Expect the accuracy of each member, and a better one of the three together.

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "troupe/actors/ensemble/ensemble_training.h"
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

Examples examples(const std::string& images, const std::string& labels, std::int64_t epochs) {
  return read_idx(images)
      .zip(read_idx(labels))
      .repeat(epochs)
      .decode({idx_pixels(images), idx_labels(labels)});
}

}  // namespace

int main(int argc, char** argv) try {
  TrainingOptions options;
  options.optimizer = optim::adam();
  options.learning_rate = 0.001;
  options.max_steps = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1200;

  EnsembleTrainingOptions together;
  together.directory = argc > 1 ? argv[1] : "run/side-by-side";
  together.combiner = probability_combiner();
  together.evaluation =
      examples(kData + "t10k-images-idx3-ubyte.gz", kData + "t10k-labels-idx1-ubyte.gz", 1)
          .buffer(2000)
          .batch(1000, Remainder::keep);
  together.progress = [](const std::string& member, const Progress& p) {
    std::printf("%-8s step %llu\n", member.c_str(), static_cast<unsigned long long>(p.step));
  };

  const auto data =
      examples(kData + "train-images-idx3-ubyte.gz", kData + "train-labels-idx1-ubyte.gz", 0)
          .shuffle({})
          .batch(100, Remainder::drop);
  EnsembleTraining training({{"mlp", classifier(perceptron), options},
                             {"cnn3", classifier([] { return convolution(3); }), options},
                             {"cnn5", classifier([] { return convolution(5); }), options}},
                            data, together);
  std::printf("%s\n", training.describe().c_str());
  const auto outcome = training.run();
  for (const auto& member : outcome.members) {
    if (member.training.ending == Ending::failed)
      std::printf("%-8s failed: %s\n", member.name.c_str(), member.training.message.c_str());
    else if (member.score)
      std::printf("%-8s accuracy %.4f\n", member.name.c_str(), *member.score);
  }
  if (!outcome.together) fail(Code::internal, outcome.not_scored);
  std::printf("%-8s accuracy %.4f\n", "together", *outcome.together);
  return outcome.failed() ? 1 : 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
