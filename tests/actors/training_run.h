#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "support/temporary_directory.h"
#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/training/training.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/state.h"

namespace troupe::test {

/// A small network without dropout: y = f(x) for four numbers x.
inline Model small_model(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
  const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
  const auto hidden = nn::dense(x, 8, {.name = "hidden", .activation = tanh});
  m.inputs = {x, y};
  m.loss = nn::mean_squared_error(nn::dense(hidden, 1, {.name = "out"}), y);
  return m;
}

/// Real actors on real threads, over text files of a few lines.
class ATrainingRun : public ::testing::Test {
 protected:
  ATrainingRun() {
    std::ofstream x(path("x.txt")), y(path("y.txt"));
    for (int i = 0; i < 240; ++i) {
      for (int k = 0; k < 4; ++k) x << (k ? " " : "") << std::sin(i * (k + 1) * 0.37);
      x << '\n';
      y << std::sin(i * 0.37) * 0.5 + 0.1 << '\n';
    }
  }
  std::string path(const std::string& name) const { return directory.path() + "/" + name; }

  Batches batches(std::int64_t epochs, std::int64_t rows = 24) const {
    return read_text({path("x.txt")})
        .zip(read_text({path("y.txt")}))
        .repeat(epochs)
        .decode({numbers({4}), numbers({1})}, {.decoders = 2, .block_records = 7})
        .shuffle({.capacity = 100, .min_after_dequeue = 40})
        .batch(rows, Remainder::drop);
  }
  static TrainingOptions options() {
    TrainingOptions o;
    o.optimizer = optim::momentum(0.9);
    o.learning_rate = 0.05;
    o.threads = {2, 2};
    o.deterministic = true;
    return o;
  }
  /// The weights after a run, as its last checkpoint has them.
  std::map<std::string, Tensor> train(TrainingOptions o, std::int64_t epochs = 3) {
    o.checkpoints.directory = path("run-" + std::to_string(++runs));
    Training training(small_model, batches(epochs, rows), o);
    outcome = training.run();
    EXPECT_NE(outcome.ending, Ending::failed) << outcome.message;
    EXPECT_TRUE(training.stop(std::chrono::seconds(60)).empty());
    std::map<std::string, Tensor> weights;
    for (auto& record : Checkpoint::open(o.checkpoints.directory).read_all())
      if (record.kind == TensorKind::variable) weights.emplace(record.name, record.value);
    return weights;
  }

  test::TemporaryDirectory directory;
  TrainingOutcome outcome;
  int runs = 0;
  std::int64_t rows = 24;  ///< of a batch of train()
};

/// The same variables, with values that differ by rounding at most.
inline void expect_near(const std::map<std::string, Tensor>& a,
                        const std::map<std::string, Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a)
    for (std::int64_t i = 0; i < value.size(); ++i)
      EXPECT_NEAR(value.at(i), b.at(name).at(i), 1e-5) << name << ", value " << i;
}

}  // namespace troupe::test
