#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/training/model.h"
#include "troupe/messages/payloads.h"

namespace troupe {

/// Where one streamed output of a training fragment goes.
struct StreamedPart {
  std::string variable;
  PartKind kind = PartKind::gradient;
  bool indices = false;  ///< the indices of a sparse gradient; its rows are the part before
};

/// A model ready for a device: inputs and variables are fed, loss and metrics
/// fetched; of a training fragment the gradients are streamed.
struct ModelFragment {
  FragmentSpec spec;                   ///< feeds: the inputs, then the variables
  std::size_t inputs = 0;              ///< how many of the feeds are inputs
  std::vector<std::string> variables;  ///< the feeds after the inputs
  std::vector<StreamedPart> parts;     ///< in the order of spec.streamed
  std::vector<std::string> values;     ///< names of the fetches: "loss", then the metrics
  std::vector<Combine> combines;       ///< of the fetches
};

/// Loss, metrics and gradients of a training model; adds the gradients to its
/// graph, finishes it, and adds the fetch "gradient_norm" (the program's own
/// measure: the sum of l2_loss of all gradients) when asked.
/// Throws invalid_argument when no variable is trainable.
ModelFragment training_fragment(const Model& model, bool gradient_norm);

/// Loss and metrics of an evaluation model.
ModelFragment evaluation_fragment(const Model& model);

/// The predictions of an evaluation model as the only fetch. Only the inputs
/// that they depend on are fed.
ModelFragment prediction_fragment(const Model& model);

}  // namespace troupe
