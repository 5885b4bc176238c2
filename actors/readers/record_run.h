#pragma once

#include <cstddef>
#include <vector>

#include "troupe/actors/readers/record_source.h"

namespace troupe {

/// Throws internal unless all records stand in the bytes, with padding on both sides: readers
/// may be of the user's own.
void check(const RecordRun& run);

/// Records [begin, end) of a run; the bytes are shared.
RecordRun slice(const RecordRun& run, std::size_t begin, std::size_t end);

/// Records begin, begin + step, begin + 2 step ... of a run; the bytes are shared.
RecordRun pick(const RecordRun& run, std::size_t begin, std::size_t step);

/// Joins pieces of runs to one run. The bytes are copied, unless there is only one piece.
class RunCollector {
 public:
  explicit RunCollector(const BlockLimits& limits);

  /// How many more records may be added at once, and how many bytes: 0 records when it is full.
  BlockLimits room() const;
  /// Adds all records of a run. Throws resource_exhausted for more bytes than a run can hold.
  void add(RecordRun run);
  bool empty() const { return count_ == 0; }

  /// What was added, in that order; the collector is empty afterwards.
  RecordRun take();

 private:
  BlockLimits limits_;
  std::vector<RecordRun> pieces_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace troupe
