#pragma once

#include <string>

#include "troupe/ops/graph.h"
#include "troupe/ops/initializers.h"

namespace troupe {

/// A value that is fed at every run. An extent of -1 may differ from run to run.
Output placeholder(Graph& graph, const std::string& name, DType dtype, const Shape& shape);

/// A value that never changes.
Output constant(Graph& graph, Tensor value, const std::string& name = "constant");
Output constant(Graph& graph, double value, DType dtype = DType::float32);

struct VariableOptions {
  DType dtype = DType::float32;
  bool trainable = true;  ///< false for moving averages and counters: the optimizer passes them by
};

/// A value that outlives the run: its name is how shards, sessions and
/// checkpoints know it. Asking again for a variable of the same full name gives
/// the same one, so that a model may be built twice in one graph and share its
/// weights; throws invalid_argument when dtype, shape or trainable differ.
/// The initial value depends on the initializer, the name and the seed of the
/// run alone, not on where the variable lives or on what else there is.
Output variable(Graph& graph, const std::string& name, const Shape& shape,
                const Initializer& initializer, const VariableOptions& options = {});

/// Where the variable starts: the initializer of the node applied to its shape.
Tensor initial_value(const Variable& variable, std::uint64_t seed);

/// Sets a variable when the run ends: a run reads all variables as they were
/// when it began. The output is the new value. `variable` must be the output of
/// a variable node.
Output assign(Output variable, Output value);
Output assign_add(Output variable, Output delta);
Output assign_sub(Output variable, Output delta);

/// Whether the node is one of these three.
bool is_assignment(const Node& node);

/// The same value; no copy.
Output identity(Output x);
/// The same value, through which no gradient flows.
Output stop_gradient(Output x);
/// Does nothing, after the nodes of these outputs have run: a target that stands for all of them.
Output group(Graph& graph, const OutputList& outputs, const std::string& name = "group");

/// Zeros or ones of x's dtype and shape.
Output zeros_like(Output x);
Output ones_like(Output x);

}  // namespace troupe
