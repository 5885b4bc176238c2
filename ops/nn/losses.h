#pragma once

#include "troupe/ops/graph.h"

// Losses of a whole batch: scalars, means over all rows. Those of a single row
// are in ops/losses.h.

namespace troupe::nn {

/// The mean of (predictions - targets)^2 over all values.
Output mean_squared_error(Output predictions, Output targets);

/// The root of that. Its gradient is not a number where all predictions are exact.
Output root_mean_squared_error(Output predictions, Output targets);

/// The mean cross entropy of softmax(logits) [batch, classes] with labels: class
/// numbers [batch] (int32, int64), or probabilities [batch, classes].
Output cross_entropy(Output logits, Output labels);

/// loss + all regularizers of its graph (the weight decay of the layers): what
/// training makes small.
Output total_loss(Output loss);

}  // namespace troupe::nn
