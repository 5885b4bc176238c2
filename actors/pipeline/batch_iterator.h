#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/messages/system_config.h"

namespace troupe {

/// Reads a pipeline from plain code, batch by batch, in the order of the records.
/// Its actors run on threads of their own; there is nothing to be started. For use by
/// one thread.
class BatchIterator {
 public:
  explicit BatchIterator(const Batches& batches, ThreadBudget threads = {});
  /// stop() with half a minute of patience.
  ~BatchIterator();
  BatchIterator(const BatchIterator&) = delete;
  BatchIterator& operator=(const BatchIterator&) = delete;

  /// The next batch, nothing at the end of the data. Throws what failed on the way,
  /// the first cause in front: a bad record with its place, a file that is not there.
  /// Throws deadline_exceeded when there is none within the time, and cancelled after
  /// stop().
  std::optional<Batch> next(Timeout timeout = kForever);

  /// Ends all actors, wherever they are. Returns, at the latest after the deadline, the
  /// names of those that have not ended; empty when all have.
  std::vector<std::string> stop(std::chrono::milliseconds deadline);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
