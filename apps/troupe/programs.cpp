#include "programs.h"

#include <filesystem>

#include "cifar10_program.h"
#include "troupe/actors/topology/model_catalog.h"
#include "troupe/ops/error.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/metrics.h"
#include "troupe/ops/nn/models.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/state.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

// Where Debian's package dataset-fashion-mnist puts its files.
constexpr const char* kFashionMnist = "/usr/share/datasets/fashion-mnist";

Model fashion_mnist_model(bool training) {
  Model m;
  m.graph = std::make_shared<Graph>();
  auto& g = *m.graph;
  const auto images = placeholder(g, "images", DType::float32, {-1, 28, 28, 1});
  const auto labels = placeholder(g, "labels", DType::int64, {-1});
  const auto logits = nn::lenet(images, training);
  m.inputs = {images, labels};
  m.loss = nn::total_loss(nn::cross_entropy(logits, labels));
  m.metrics = {{"accuracy", nn::accuracy(logits, labels)}};
  m.predictions = softmax(logits);
  return m;
}

std::string one_file(const std::vector<std::string>& files, const std::string& fallback,
                     const char* option) {
  if (files.size() > 1)
    throw UsageError(text(option, " takes one IDX file here, but ", files.size(), " were given"));
  const auto& file = files.empty() ? fallback : files[0];
  if (!std::filesystem::exists(file))
    fail(Code::not_found, "there is no file ", file,
         files.empty() ? "; install the Debian package dataset-fashion-mnist, or name a file with "
                       : " (",
         files.empty() ? option : option, files.empty() ? "" : ")");
  return file;
}

Batches idx_batches(const std::string& images, const std::string& labels, std::int64_t epochs,
                    const DataArguments& a, std::int64_t batch, bool shuffle) {
  DecodeOptions decoding;
  decoding.decoders = shuffle ? a.decoders : 1;
  decoding.block_records = 256;
  auto examples = read_idx(images).zip(read_idx(labels));
  if (shuffle) examples = examples.repeat(epochs);
  const auto decoded = examples.decode({idx_pixels(images), idx_labels(labels)}, decoding);
  if (!shuffle) return decoded.buffer(2 * batch).batch(batch, Remainder::keep);
  ShuffleOptions shuffling;
  shuffling.min_after_dequeue = a.min_after_dequeue >= 0 ? a.min_after_dequeue : 5'000;
  shuffling.capacity = a.capacity > 0
                           ? a.capacity
                           : shuffling.min_after_dequeue + 20 * std::max<std::int64_t>(batch, 50);
  return decoded.shuffle(shuffling).batch(batch, Remainder::keep);
}

Batches fashion_mnist_test(const DataArguments& a) {
  const std::string folder = kFashionMnist;
  return idx_batches(
      one_file(a.test_features, folder + "/t10k-images-idx3-ubyte.gz", "--test-images"),
      one_file(a.test_labels, folder + "/t10k-labels-idx1-ubyte.gz", "--test-labels"), 1, a, 1000,
      false);
}

Program fashion_mnist(const DataArguments& a, bool with_training) {
  Program p;
  p.name = "fashion-mnist";
  p.model = fashion_mnist_model;
  p.classifies = true;
  p.test = fashion_mnist_test(a);
  if (!with_training) return p;
  const auto batch = a.batch > 0 ? a.batch : 100;
  const auto epochs = a.epochs >= 0 ? a.epochs : 5;
  const std::string folder = kFashionMnist;
  p.training = idx_batches(one_file(a.features, folder + "/train-images-idx3-ubyte.gz", "--images"),
                           one_file(a.labels, folder + "/train-labels-idx1-ubyte.gz", "--labels"),
                           epochs, a, batch, true);
  p.options.optimizer = optim::momentum(0.9);
  const auto steps = p.training->total_examples() / batch;
  p.options.learning_rate =
      steps > 0 ? schedule::cosine(0.03, static_cast<double>(steps), 0.01) : Schedule(0.02);
  p.options.evaluation.every = 300;
  p.options.checkpoints.every = 600;
  p.next = "; docs/tutorials/first-run.md shows the same program in C++";
  return p;
}

Batches text_batches(const std::vector<std::string>& features,
                     const std::vector<std::string>& labels, const DataArguments& a,
                     std::int64_t batch, std::int64_t epochs, bool shuffle) {
  DecodeOptions decoding;
  decoding.decoders = shuffle ? a.decoders : 1;
  decoding.block_records = 32;  // about a megabyte of text
  auto records = read_text(features).zip(read_text(labels));
  if (shuffle) records = records.repeat(epochs);
  const auto decoded = records.decode({numbers({20, 195, 1}), numbers({15})}, decoding);
  if (!shuffle) return decoded.buffer(2 * batch).batch(batch, Remainder::keep);
  ShuffleOptions shuffling;
  shuffling.min_after_dequeue = a.min_after_dequeue >= 0 ? a.min_after_dequeue : 1'000;
  shuffling.capacity = a.capacity > 0 ? a.capacity : shuffling.min_after_dequeue + 3 * batch;
  return decoded.shuffle(shuffling).batch(batch, Remainder::drop);
}

void need(const std::vector<std::string>& files, const char* option) {
  if (files.empty())
    throw UsageError(text("the headline program needs ", option,
                          " (troupe make-data headline writes such files)"));
}

Program headline(const DataArguments& a, bool with_training) {
  Program p;
  p.name = "headline";
  p.model = model_named("headline_cnn");
  if (a.test_features.empty() != a.test_labels.empty())
    throw UsageError("--test-features and --test-labels go together");
  if (!a.test_features.empty())
    p.test = text_batches(a.test_features, a.test_labels, a, 1000, 1, false);
  if (!with_training) return p;
  need(a.features, "--features");
  need(a.labels, "--labels");
  const auto batch = a.batch > 0 ? a.batch : 1000;
  p.training = text_batches(a.features, a.labels, a, batch, a.epochs >= 0 ? a.epochs : 0, true);
  p.options.optimizer = optim::momentum(0.8);
  p.options.learning_rate = schedule::exponential(0.1, 200, 0.8, true);
  p.options.max_steps = 3300;
  p.options.gradient_norm = true;
  p.options.evaluation.every = 1;
  p.options.checkpoints.every = 100;
  p.eval_options = " --test-features F --test-labels L";
  p.predict_options = " --features F";
  return p;
}

[[noreturn]] void unknown(const std::string& name) {
  std::string known;
  std::vector<std::string> names;
  for (const auto& [program, summary] : program_list()) {
    known += text(known.empty() ? "" : ", ", program);
    names.push_back(program);
  }
  throw UsageError(
      text("no program is called '", name, "'; there are: ", known, suggestion(name, names)));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> program_list() {
  return {
      {"fashion-mnist", "a CNN on Fashion-MNIST (IDX files; Debian package dataset-fashion-mnist)"},
      {"cifar10",
       "the CNN of TensorFlow's CIFAR-10 tutorial (binary version, in --data DIRECTORY)"},
      {"headline", "a CNN on text files of 20 x 195 numbers a line, 15 labels a line"}};
}

void check_program_name(const std::string& name) {
  for (const auto& [program, summary] : program_list())
    if (name == program) return;
  unknown(name);
}

Program training_program(const std::string& name, const DataArguments& arguments) {
  if (name == "fashion-mnist") return fashion_mnist(arguments, true);
  if (name == "cifar10") return cifar10_program(arguments, true);
  if (name == "headline") return headline(arguments, true);
  unknown(name);
}

Program evaluation_program(const std::string& name, const DataArguments& arguments) {
  if (name == "fashion-mnist") return fashion_mnist(arguments, false);
  if (name == "cifar10") return cifar10_program(arguments, false);
  if (name != "headline") unknown(name);
  need(arguments.test_features, "--test-features");
  need(arguments.test_labels, "--test-labels");
  return headline(arguments, false);
}

Program prediction_program(const std::string& name, const DataArguments& arguments) {
  if (name == "fashion-mnist") {
    Program p;
    p.name = name;
    p.model = fashion_mnist_model;
    p.classifies = true;
    const auto images =
        one_file(arguments.test_features, std::string(kFashionMnist) + "/t10k-images-idx3-ubyte.gz",
                 "--images");
    p.test = read_idx(images)
                 .decode({idx_pixels(images)}, {.decoders = 1})
                 .buffer(2000)
                 .batch(1000, Remainder::keep);
    return p;
  }
  if (name == "cifar10") return cifar10_program(arguments, false);
  if (name != "headline") unknown(name);
  need(arguments.test_features, "--features");
  Program p;
  p.name = name;
  p.model = model_named("headline_cnn");
  p.test = read_text(arguments.test_features)
               .decode({numbers({20, 195, 1})}, {.decoders = 1})
               .buffer(2000)
               .batch(1000, Remainder::keep);
  return p;
}

}  // namespace troupe::cli
