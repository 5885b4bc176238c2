#pragma once

#include <memory>
#include <optional>

#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/messages/system_config.h"

namespace troupe {

/// Reads a pipeline from plain code, batch by batch, in the order of the records.
/// Its actors run on threads of their own.
class BatchIterator {
 public:
  explicit BatchIterator(const Batches& batches, ThreadBudget threads = {});
  ~BatchIterator();
  BatchIterator(const BatchIterator&) = delete;
  BatchIterator& operator=(const BatchIterator&) = delete;

  /// The next batch, nothing at the end of the data. Throws what failed on the
  /// way: a bad record with its place, a file that is not there.
  std::optional<Batch> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
