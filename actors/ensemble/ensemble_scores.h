#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "troupe/actors/ensemble/combiner.h"
#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/training/model.h"
#include "troupe/messages/system_config.h"

namespace troupe {

/// How good answers are.
struct Score {
  std::string name;
  Combine combine = Combine::mean;  ///< how the scores of several batches become one
  /// Of the answers to a batch, whose last component says what is right. Throws
  /// invalid_argument when these do not fit.
  std::function<double(const Tensor& answers, const Tensor& right)> of;
};

/// The share of the rows that are right. Answers are [rows, classes], of which the largest
/// counts, or class numbers [rows]; what is right are class numbers [rows].
Score accuracy_score();
/// The root of the mean of the squared differences; both have the same shape.
Score rmse_score();
/// accuracy_score() where integers say what is right, else rmse_score().
Score score_for(const TensorSpec& right);

/// A model with its weights.
struct TrainedModel {
  std::string name;
  ModelFunction model;
  Parameters weights;
  double weight = 1;  ///< in the combination
};

/// Throws invalid_argument, with both names, when one model takes or answers something
/// else than the others: number, dtypes or shapes.
void expect_members_fit(const std::vector<TrainedModel>& members);

/// Where the inputs of queries to these models stand in a batch: the positions of those of
/// the model's inputs that its predictions depend on.
std::vector<std::size_t> query_inputs(const Model& model);

struct EnsembleScores {
  std::string name;             ///< of the score
  std::int64_t rows = 0;        ///< examples
  std::vector<double> members;  ///< each alone, in their order
  double together = 0;
};

/// Has all models answer all batches, and says how good each of them is, and what the
/// combiner makes of their answers. Throws as expect_members_fit() and the combiner, and
/// invalid_argument when there are no examples.
EnsembleScores score_together(const std::vector<TrainedModel>& members, const Combiner& combiner,
                              const Batches& data, const Score& score, ThreadBudget threads = {});

}  // namespace troupe
