#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "troupe/actors/training/fragments.h"
#include "troupe/messages/payloads.h"

namespace troupe {

/// Gradients of several batches as those of one large batch: means weighted by the number
/// of examples, part by part.
class GradientAccumulator {
 public:
  /// For so many streamed parts.
  explicit GradientAccumulator(std::size_t parts = 0) : parts_(parts) {}

  /// What the batch of `rows` examples gave for one part. Sparse gradients come with their
  /// indices.
  void add(std::size_t part, Tensor values, Tensor indices, std::int64_t rows);

  /// The mean over all that was added for this part, and the part is empty again. None
  /// when nothing was added. `rows` are the examples of all batches together: those that
  /// brought nothing for the part count as zero.
  struct Mean {
    Tensor values, indices;
  };
  std::optional<Mean> take(std::size_t part, std::int64_t rows);
  void clear();

 private:
  struct Part {
    TensorList values, indices;
    std::vector<double> rows;
  };
  std::vector<Part> parts_;
};

}  // namespace troupe
