#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "troupe/actors/parameters/parameter_store.h"
#include "troupe/messages/payloads.h"

namespace troupe {

/// A model that is cut into stages, each of which makes one tensor of one tensor.
struct StagedModel {
  TensorSpec input;   ///< of the first component of a batch, such as float32 [-1, 784]
  TensorSpec labels;  ///< of the second
  /// In their order; nn::Sequential is one. What the last one makes are the predictions.
  std::vector<std::function<Output(Output)>> stages;
  /// A scalar: the mean over the rows. Regularizers of the layers are added to it.
  std::function<Output(Output predictions, Output labels)> loss;
};

/// One stage as fragments for a device. The variables of stage i are called "stage_<i>/...".
///
/// Forward feeds the input and the variables and fetches the output. Backward feeds the
/// input, then the gradient by the output (the last stage: the labels), then the variables;
/// it computes the stage again, so that of a micro-batch under way only the input is kept.
/// It fetches the loss (the last stage: the whole one; others: their regularizers, if they
/// have some), the gradient by the input (all but the first), and the parts.
struct StageProgram {
  struct Part {
    std::string variable;
    PartKind kind = PartKind::gradient;  ///< or assignment
  };

  FragmentSpec forward;  ///< without a graph for the last stage
  FragmentSpec backward;
  std::vector<ShardVariable> variables;  ///< in the order in which they are fed
  bool has_loss = false;
  bool has_input_gradient = false;
  std::vector<Part> parts;
};

/// Cuts a model. Throws invalid_argument, naming the stage, for fewer than two stages, one
/// that trains no variable, an output that is no floating tensor with rows, or a loss that is
/// no scalar.
std::vector<StageProgram> cut_into_stages(const StagedModel& model, std::uint64_t seed);

}  // namespace troupe
