#pragma once

#include <cstdint>
#include <optional>
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

/// A node that picks rows of a table by numbers that only the batch decides. What it would
/// give is fed, so that the table is not.
struct RowRead {
  std::string variable;
  std::string name;                       ///< of the node
  std::int64_t rows = 0;                  ///< of the table
  std::optional<std::size_t> input = {};  ///< the numbers are this component of a batch ...
  std::size_t fetch = 0;                  ///< ... or else this fetch of ModelFragment::ids
};

/// From which size on a variable that is only read by rows is a table: pulled and pushed by
/// rows. Smaller ones are not worth another round of messages.
struct TableOptions {
  std::uint64_t from_bytes = std::uint64_t{1} << 20;
  bool none = false;  ///< every variable is fed as a whole
};

/// A model ready for a device: inputs and variables are fed, loss and metrics
/// fetched; of a training fragment the gradients are streamed.
struct ModelFragment {
  FragmentSpec spec;                    ///< feeds: the inputs, then the variables, then the reads
  std::size_t inputs = 0;               ///< how many of the feeds are inputs
  std::vector<std::string> variables;   ///< the feeds after the inputs
  std::vector<RowRead> reads;           ///< the feeds after the variables
  FragmentSpec ids;                     ///< gives row numbers that are no component of a batch
  std::vector<std::size_t> ids_inputs;  ///< components of a batch that `ids` is fed
  std::vector<StreamedPart> parts;      ///< in the order of spec.streamed
  std::vector<std::string> values;      ///< names of the fetches: "loss", then the metrics
  std::vector<Combine> combines;        ///< of the fetches
  /// There is one more feed, a scalar of this type: the loss is multiplied with it before its
  /// gradients are taken, and they are divided by it where they come out.
  std::optional<DType> loss_scale = {};
};

/// The variables of a model that are only read by rows, from that size on, in the order of
/// the graph: every use is a gather along the first axis, by numbers that depend on no
/// variable and on nothing random.
std::vector<std::string> table_variables(const Model& model, const TableOptions& options);

/// What a run of the fragment is fed: the components of a batch, then the variables, then
/// what the reads give. Throws invalid_argument when the batch has not one component for
/// each input.
TensorList feeds_for(const ModelFragment& fragment, TensorList inputs, const TensorList& variables,
                     const TensorList& reads = {});

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
/// `tables` are variables of the model that are read by rows: table_variables().
/// With `scale_loss` gradients are taken of a multiple of the loss, ModelFragment::loss_scale.
/// Throws invalid_argument when no variable is trainable.
ModelFragment training_fragment(const Model& model, bool gradient_norm,
                                const std::vector<std::string>& tables = {},
                                bool scale_loss = false);

/// Loss and metrics of an evaluation model. Of the `tables` those are read by rows for which
/// this model does nothing else; throws invalid_argument, naming the variable, when it does
/// more, because nobody has the table as a whole.
ModelFragment evaluation_fragment(const Model& model, const std::vector<std::string>& tables = {});

/// The predictions of an evaluation model as the only fetch. Only the inputs
/// that they depend on are fed.
ModelFragment prediction_fragment(const Model& model);

}  // namespace troupe
