#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/ops/graph.h"

namespace troupe {

/// How the values that several batches gave become one.
enum class Combine {
  mean,              ///< weighted by rows: losses, accuracies
  root_mean_square,  ///< of values that are roots of means, such as an RMSE
};

/// A number that says how good a model is on a batch.
struct Metric {
  std::string name;
  Output value;  ///< a scalar
  Combine combine = Combine::mean;
};

/// A model as a graph: what is fed, what is made small, what is told.
struct Model {
  GraphPtr graph;
  OutputList inputs;  ///< placeholders, one for each component of a batch, in that order
  Output loss;        ///< a scalar; what training makes small
  std::vector<Metric> metrics;
  Output predictions;                    ///< for predict; may be none
  Combine loss_combine = Combine::mean;  ///< how evaluation adds up the loss of several batches
};

/// Builds the model anew: once for training (dropout on, batch statistics) and
/// once for evaluation. Both must create the same variables by name.
using ModelFunction = std::function<Model(bool training)>;

/// Checks that a model is complete and of one graph. Throws invalid_argument
/// saying what is missing.
void validate(const Model& model);

}  // namespace troupe
