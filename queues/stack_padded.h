#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "troupe/messages/payloads.h"
#include "troupe/queues/queue_component.h"

namespace troupe {

/// How elements of different sizes become one batch.
struct ElementPadding {
  std::vector<double> values;  ///< what fills up each component; one for all, or one each
  std::uint64_t most_bytes = std::uint64_t{1} << 30;  ///< of the padded batch
  /// Instead of `values`, for strings and for integers that a double cannot hold: a scalar
  /// for each component, of its dtype.
  TensorList exact{};
};

/// Throws invalid_argument, naming the component, when there is not one value for each, or
/// one that its dtype cannot hold.
void check(const ElementPadding& padding, const std::vector<QueueComponent>& components);

/// Puts elements on top of each other as stack_elements does, after filling each up,
/// behind its last value along every axis, to the largest extents of the batch.
/// Strings are filled up with empty ones, unless the padding is exact.
///
/// Throws invalid_argument, naming the component, unless all elements have the same
/// number of components, dtypes and ranks, and resource_exhausted for a batch that
/// would be larger than allowed.
TensorList stack_padded(std::span<const Element> elements, const ElementPadding& padding);

}  // namespace troupe
