#pragma once

#include <cstdint>

#include "troupe/ops/graph.h"

namespace troupe {

// Losses and what is counted beside them, for float32 and float64. None of them
// overflows, however large the logits are. The mean over a batch is the caller's.

/// -sum_j labels[j] * log_softmax(logits)[j] for each row.
///
///   logits, labels  [..., classes]   labels are probabilities
///   result          [...]
Output softmax_cross_entropy(Output logits, Output labels);

/// -log_softmax(logits)[label] for each row. Running throws invalid_argument,
/// naming the node, the row and the label, for one outside [0, classes).
///
///   logits  [..., classes]
///   labels  [...]            int32 or int64
///   result  [...]
Output sparse_softmax_cross_entropy(Output logits, Output labels);

/// -z log(sigmoid(x)) - (1 - z) log(1 - sigmoid(x)), value by value, for logits x
/// and labels z of one shape; classes need not exclude each other.
Output sigmoid_cross_entropy(Output logits, Output labels);

/// d^2 / 2 where d = |prediction - target| is below delta, and delta (d - delta / 2)
/// beyond: squared near the target, straight far from it. Huber 1964.
Output huber(Output predictions, Output targets, double delta = 1);

/// Whether fewer than k predictions of a row are greater than that of its
/// target: ties count in its favour. False for a target outside [0, classes)
/// and where the target's prediction is not finite.
///
///   predictions  [rows, classes]
///   targets      [rows]            int32 or int64
///   result       [rows]            bool
Output in_top_k(Output predictions, Output targets, std::int64_t k);

}  // namespace troupe
