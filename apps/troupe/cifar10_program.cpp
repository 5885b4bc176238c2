#include "cifar10_program.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "say.h"
#include "troupe/actors/pipeline/images.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/metrics.h"
#include "troupe/ops/nn/models.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/state.h"

namespace troupe::cli {
namespace {

Model cifar10_model(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto images = placeholder(*m.graph, "images", DType::float32, {-1, 24, 24, 3});
  const auto labels = placeholder(*m.graph, "labels", DType::int64, {-1});
  const auto logits = nn::cifar10_cnn(images);
  m.inputs = {images, labels};
  m.loss = check_numerics(nn::total_loss(nn::cross_entropy(logits, labels)), "the loss");
  m.metrics = {{"accuracy", nn::accuracy(logits, labels)}};
  m.predictions = softmax(logits);
  return m;
}

std::vector<std::string> files(const std::vector<std::string>& given, const std::string& directory,
                               const char* name) {
  if (!given.empty()) return given;
  if (directory.empty())
    fail(Code::invalid_argument,
         "the cifar10 program needs --data DIRECTORY, or --features and --test-features"
         " (troupe make-data cifar10 writes such files; the real ones are the binary version of "
         "https://www.cs.toronto.edu/~kriz/cifar.html)");
  return {directory + "/" + name};
}

/// Training goes on with fewer files only when it is told to: nobody notices a missing one.
void expect_all_batches(const DataArguments& a) {
  constexpr int kBatches = 5;
  if (!a.features.empty() || a.directory.empty()) return;
  std::string missing;
  int count = 0;
  for (int i = 1; i <= kBatches; ++i) {
    const auto name = fmt::format("data_batch_{}.bin", i);
    if (std::filesystem::exists(a.directory + "/" + name)) continue;
    missing += (missing.empty() ? "" : ", ") + name;
    ++count;
  }
  if (count == 0) return;
  const auto words = fmt::format("{} of the {} training files are missing in {}: {}", count,
                                 kBatches, a.directory, missing);
  if (!a.allow_missing || count == kBatches)
    fail(Code::not_found, words, count == kBatches ? "" : " (--allow-missing trains without them)");
  complain("warning: {}", words);
}

Batches training_batches(const Records& records, const DataArguments& a, std::int64_t batch) {
  DecodeOptions decoding;
  decoding.decoders = a.decoders;
  ShuffleOptions shuffling;
  shuffling.min_after_dequeue =
      a.min_after_dequeue >= 0 ? a.min_after_dequeue : records.count() * 2 / 5;
  shuffling.capacity = a.capacity > 0 ? a.capacity : shuffling.min_after_dequeue + 3 * batch;
  return records.repeat(a.epochs >= 0 ? a.epochs : 0, a.seed)
      .decode({distort(cifar10(), cifar10_steps(true), a.seed)}, decoding)
      .shuffle(shuffling)
      .batch(batch, Remainder::drop);
}

}  // namespace

Program cifar10_program(const DataArguments& a, bool with_training) {
  Program p;
  p.name = "cifar10";
  p.model = cifar10_model;
  p.classifies = true;
  p.test = read_cifar10(files(a.test_features, a.directory, "test_batch.bin"))
               .decode({distort(cifar10(), cifar10_steps(false), a.seed)}, {.decoders = 1})
               .buffer(1000)
               .batch(500, Remainder::keep);
  if (!with_training) return p;
  expect_all_batches(a);
  const auto records = read_cifar10(files(a.features, a.directory, "data_batch_*.bin"));
  const auto batch = a.batch > 0 ? a.batch : 128;
  p.training = training_batches(records, a, batch);
  p.options.optimizer = optim::sgd();
  // A tenth each 350 epochs.
  const auto decay_steps = std::max<std::int64_t>(1, records.count() * 350 / batch);
  p.options.learning_rate = schedule::exponential(0.1, static_cast<double>(decay_steps), 0.1, true);
  p.options.average_decay = 0.9999;
  p.options.max_steps = 100'000;
  p.options.evaluation.every = 1000;
  p.options.checkpoints.every = 1000;
  p.next = "; docs/tutorials/cifar10.md says how this model does on the real images";
  return p;
}

}  // namespace troupe::cli
