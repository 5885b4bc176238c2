#pragma once

#include "troupe/ops/graph.h"

namespace troupe::nn {

/// The part of the rows, from 0 to 1, whose greatest logit is that of the label.
///
///   logits  [batch, classes]
///   labels  [batch]           int32 or int64
Output accuracy(Output logits, Output labels);

/// The part of the rows where fewer than k logits are greater than the label's.
Output top_k_accuracy(Output logits, Output labels, std::int64_t k);

}  // namespace troupe::nn
