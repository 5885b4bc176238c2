#pragma once

#include <cstdint>
#include <string>
#include <utility>
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

/// What a run of the fragment is fed: the components of a batch, then the variables.
/// Throws invalid_argument when the batch has not one component for each input.
TensorList feeds_for(const ModelFragment& fragment, TensorList inputs, const TensorList& variables);

/// Loss and metrics over several batches.
class CombinedValues {
 public:
  explicit CombinedValues(std::vector<Combine> combines)
      : combines_(std::move(combines)), sums_(combines_.size()) {}

  /// The values that a batch of `rows` examples gave, in the order of the combines.
  void add(const TensorList& values, std::int64_t rows);

  std::int64_t rows() const { return rows_; }
  /// Over all examples; NaN before there were any.
  std::vector<double> values() const;

 private:
  std::vector<Combine> combines_;
  std::vector<double> sums_;
  std::int64_t rows_ = 0;
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
