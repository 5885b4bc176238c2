// An embedding of a million ids, of which each step pulls and pushes the few rows of its batch.
// Run: embedding [LIBSVM FILE]; without a file it makes one up.
// Expect "1 by rows" in the description, and an accuracy near 1 for the file that it makes up.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "troupe/actors/pipeline/libsvm.h"
#include "troupe/actors/training/training.h"
#include "troupe/ops/array.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/losses.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/random.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/state.h"

using namespace troupe;

namespace {

constexpr std::int64_t kIds = 1'000'000;
constexpr std::int64_t kWidth = 16;

/// The sum of the embeddings of an example's ids, each times its value, through a dense layer.
Model model(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto ids = placeholder(*m.graph, "ids", DType::int64, {-1, -1});
  const auto values = placeholder(*m.graph, "values", DType::float32, {-1, -1});
  const auto labels = placeholder(*m.graph, "labels", DType::float32, {-1});
  const auto table = variable(*m.graph, "embedding", {kIds, kWidth}, init::normal(0, 0.1));
  const auto rows = gather(table, ids) * expand_dims(values, -1);
  const auto logits = reshape(nn::dense(reduce_sum(rows, {1}), 1, {.name = "out"}), {-1});
  const auto positive = cast(greater(labels, zeros_like(labels)), DType::float32);
  m.inputs = {ids, values, labels};
  m.loss = reduce_mean(sigmoid_cross_entropy(logits, positive));
  m.metrics = {
      {"accuracy",
       reduce_mean(cast(equal(cast(greater(logits, zeros_like(logits)), DType::float32), positive),
                        DType::float32))}};
  return m;
}

/// Lines "label id:1 id:1 ...": the label is whether most of the ids are odd.
void make_up(const std::string& path) {
  RandomStream random(1);
  std::ofstream out(path);
  for (int line = 0; line < 20'000; ++line) {
    std::int64_t id = 0;
    int odd = 0;
    std::string words;
    for (int i = 0; i < 5; ++i) {
      // Ids of LIBSVM grow from left to right. A few hundred of the million are used.
      id += 1 + static_cast<std::int64_t>(random.below(100));
      odd += id % 2 != 0 ? 1 : -1;
      words += text(' ', id * 1'001, ":1");
    }
    out << (odd > 0 ? "+1" : "-1") << words << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::string file = argc > 1 ? argv[1] : "embedding.txt";
  if (argc < 2 && !std::filesystem::exists(file)) make_up(file);
  const auto examples = [&](std::int64_t epochs) {
    return read_libsvm({file}).repeat(epochs).decode({libsvm_sparse()});
  };
  TrainingOptions options;
  options.optimizer = optim::adam(0.9, 0.999, 1e-8, true);  // lazy: rows without a gradient rest
  options.learning_rate = 0.01;
  options.replicas = 2;
  options.shards = 2;
  options.max_shard_bytes = 32 << 20;  // the table has 64 MB: half of it in each shard
  options.max_steps = 1'000;
  options.evaluation.data = examples(1).padded_batch(500, Remainder::keep);
  Training training(model,
                    examples(0)
                        .shuffle({.capacity = 5'000, .min_after_dequeue = 1'000})
                        .padded_batch(100, Remainder::drop),
                    options);
  std::printf("%s\n", training.describe().c_str());
  const auto outcome = training.run();
  if (outcome.ending == Ending::failed) {
    std::fprintf(stderr, "failed: %s\n", outcome.message.c_str());
    return 1;
  }
  std::printf("after %lu steps: loss %.3f, accuracy %.3f\n",
              static_cast<unsigned long>(outcome.steps), outcome.evaluation.at(0),
              outcome.evaluation.at(1));
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
