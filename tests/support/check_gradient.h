#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/interpreter.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/random.h"

namespace troupe::test {

/// Values of that shape, normally distributed, the same for the same seed.
inline Tensor random_values(const Shape& shape, std::uint64_t seed, double mean = 0,
                            double stddev = 1, DType dtype = DType::float64) {
  return evaluate(init::normal(mean, stddev), dtype, shape, "random_values", seed);
}

struct GradientCheck {
  std::vector<Shape> declared;  ///< shapes of the placeholders; empty: those of the values
  double step = 1e-5;           ///< of the central differences
  double tolerance = 1e-6;      ///< of a difference, relative above 1 and absolute below
  std::uint64_t seed = 0;       ///< of the run, for ops that draw numbers
};

/// Checks the gradients of the float64 inputs against central differences.
///
/// `build` gets a placeholder per input and returns an output of any shape. Its
/// values are summed with random weights, so that every one counts, differently.
///
///   check_gradient([](const OutputList& x) { return add(x[0], x[1]); },
///                  {random_values({4, 3}, 1), random_values({3}, 2)});
///
/// Values must stay a few steps away from kinks (relu at 0) and ties (max).
inline void check_gradient(const std::function<Output(const OutputList&)>& build,
                           const TensorList& inputs, const GradientCheck& options = {}) {
  Graph graph;
  OutputList x;
  std::map<std::string, Tensor> feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto name = "x" + std::to_string(i);
    const auto& shape = options.declared.empty() ? inputs[i].shape() : options.declared.at(i);
    x.push_back(placeholder(graph, name, inputs[i].dtype(), shape));
    feeds[name] = inputs[i];
  }
  const auto y = build(x);
  const auto weights =
      random_values(run_graph(y, feeds, options.seed).shape(), seed_for(17, "weights"));
  const auto weighted = graph.add("mul", {y, constant(graph, weights)}).output(0);
  const auto loss = graph.add("reduce_sum", {weighted}).output(0);
  const auto gradient = gradients(loss, x);

  const auto loss_at = [&](const std::string& name, const Tensor& values) {
    auto moved = feeds;
    moved[name] = values;
    const auto at = run_graph(y, moved, options.seed);
    double sum = 0;
    for (std::int64_t i = 0; i < at.size(); ++i) sum += at.at(i) * weights.at(i);
    return sum;
  };

  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != DType::float64) continue;
    const auto name = "x" + std::to_string(i);
    SCOPED_TRACE("input " + std::to_string(i) + " of " + y.name());
    if (!gradient[i]) {
      ADD_FAILURE() << "no gradient reaches it";
      continue;
    }
    const auto computed = run_graph(gradient[i].dense(), feeds, options.seed);
    ASSERT_EQ(computed.shape(), inputs[i].shape());
    for (std::int64_t k = 0; k < inputs[i].size(); ++k) {
      auto up = inputs[i].clone();
      auto down = inputs[i].clone();
      up.write<double>()[k] += options.step;
      down.write<double>()[k] -= options.step;
      const auto measured = (loss_at(name, up) - loss_at(name, down)) / (2 * options.step);
      ASSERT_NEAR(computed.at(k), measured, options.tolerance * std::max(1.0, std::abs(measured)))
          << "value " << k << " of " << inputs[i].shape();
    }
  }
}

}  // namespace troupe::test
