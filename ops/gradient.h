#pragma once

#include <vector>

#include "troupe/ops/graph.h"

namespace troupe {

/// The gradient of a loss with respect to one value: nothing, a dense tensor of
/// the value's shape, or, for a table of which only some rows were read, the
/// indices of those rows and a gradient for each. A sparse gradient stays
/// sparse until somebody calls dense().
struct Gradient {
  Gradient() = default;
  Gradient(Output dense_gradient) : values(dense_gradient) {}  // NOLINT: converts on purpose
  static Gradient sparse(Output indices, Output rows, const Shape& shape) {
    Gradient g;
    g.values = rows;
    g.indices = indices;
    g.shape = shape;
    return g;
  }

  explicit operator bool() const { return static_cast<bool>(values); }
  bool is_sparse() const { return static_cast<bool>(indices); }

  Output values;   ///< dense: the value's shape; sparse: [count, ...], one row per index
  Output indices;  ///< sparse only: [count] integers, may repeat
  Shape shape;     ///< sparse only: the shape of the whole table

  /// The dense gradient; adds an op that scatters the rows of a sparse one.
  Output dense() const;
};
using GradientList = std::vector<Gradient>;

/// What the gradient rule of an op sees.
class Backward {
 public:
  Backward(Node& node, std::vector<Output> output_gradients)
      : node_(node), dy_(std::move(output_gradients)) {}

  Graph& graph() const { return *node_.graph; }
  const Attributes& attributes() const { return node_.attributes; }
  int inputs() const { return static_cast<int>(node_.inputs.size()); }
  Output x(int i = 0) const { return node_.inputs.at(i); }
  Output y(int i = 0) const { return {node_, i}; }
  /// The gradient of output i; zeros when none flows there.
  Output dy(int i = 0) const;
  bool has_dy(int i) const { return static_cast<bool>(dy_.at(i)); }

 private:
  Node& node_;
  std::vector<Output> dy_;
};

/// Adds to the graph the gradients of a scalar `loss` with respect to each of
/// `with_respect_to`, by reverse accumulation. An entry is empty where the loss
/// does not depend on the value. What is added for a node is colocated with it, so
/// that the way back runs on the devices of the way there. Throws invalid_argument when the loss is
/// not a floating scalar, and unimplemented, naming the node, when an op on the way has no
/// gradient.
GradientList gradients(Output loss, const OutputList& with_respect_to);

}  // namespace troupe
