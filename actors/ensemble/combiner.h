#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/messages/ensemble.h"

namespace troupe {

/// Makes one answer of those of several members: at least one, all with outputs of
/// the same number, dtypes and shapes, in the order in which the members joined.
/// What it throws is the answer to the query.
using Combiner = std::function<TensorList(const std::vector<MemberAnswer>&)>;

/// Of each output: sum of weight * value over the members, divided by the sum of weights.
/// Outputs must be floating.
Combiner mean_combiner();

/// The mean of softmax(output) along the last axis: members whose logits are of
/// different scales count alike. Outputs must be floating, of rank 1 or more.
Combiner probability_combiner();

/// Each member votes, with its weight, for the largest value along the last axis of
/// its outputs, or, where they are integers, for the value itself. Of floating outputs
/// [..., classes] the answer is the share of the votes that each class has, of the same
/// dtype and shape; of integers it is the value with the most votes. Of equal numbers
/// of votes, the smallest class wins.
Combiner vote_combiner();

/// Makes a combiner known by a name, for command lines and files.
/// Throws already_exists, and invalid_argument for an empty name. From any thread.
void register_combiner(const std::string& name, Combiner combiner);

/// "mean", "probability", "vote" or one that was registered. Throws not_found with
/// the names that there are.
Combiner combiner_named(const std::string& name);

}  // namespace troupe
