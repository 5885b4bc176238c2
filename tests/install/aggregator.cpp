#include <troupe/actors/pipeline/pipeline.h>
#include <troupe/actors/training/training.h>
#include <troupe/ops/nn/layers.h>
#include <troupe/ops/nn/losses.h>
#include <troupe/ops/state.h>

#include <cmath>
#include <fstream>
#include <iostream>

#include "median_policy.h"

using namespace troupe;

/// y = w x + b for two numbers x.
Model line(bool) {
  Model m;
  m.graph = std::make_shared<Graph>();
  const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 2});
  const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
  m.inputs = {x, y};
  m.loss = nn::mean_squared_error(nn::dense(x, 1, {.name = "line"}), y);
  return m;
}

/// y = 3 x0 - x1, but every hundredth y of the training set is far off.
void write(const std::string& name, bool spoilt) {
  std::ofstream xs(name + "-x.txt"), ys(name + "-y.txt");
  for (int i = 0; i < 1000; ++i) {
    const double x0 = std::sin(i * 0.7), x1 = std::cos(i * 1.3);
    xs << x0 << ' ' << x1 << '\n';
    ys << (spoilt && i % 100 == 17 ? 1000 : 3 * x0 - x1) << '\n';
  }
}

Batches read(const std::string& name, std::int64_t epochs) {
  return read_text({name + "-x.txt"})
      .zip(read_text({name + "-y.txt"}))
      .repeat(epochs)
      .decode({numbers({2}), numbers({1})})
      .buffer(100)
      .batch(50, Remainder::drop);
}

int main(int argc, char** argv) {
  register_median();
  write("train", true);
  write("test", false);
  TrainingOptions options;
  options.aggregation.policy = argc > 1 ? argv[1] : "median";
  options.replicas = 5;
  options.optimizer = optim::sgd();
  options.learning_rate = 0.1;
  options.deterministic = true;
  options.evaluation.data = read("test", 1);
  Training training(line, read("train", 20), options);
  const auto outcome = training.run();
  if (outcome.ending == Ending::failed) {
    std::cerr << outcome.message << '\n';
    return 1;
  }
  std::cout << options.aggregation.policy << ": loss " << outcome.evaluation[0] << " after "
            << outcome.steps << " updates\n";
  // The mean gradient follows those that are far off.
  return options.aggregation.policy == "median" && outcome.evaluation[0] > 0.01 ? 1 : 0;
}
