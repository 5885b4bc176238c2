#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "troupe/ops/error.h"

namespace troupe {

/// What happens to records that cannot be decoded: up to `budget` of them are
/// left out, the next one is a failure. Shared by the decoders of one stream of
/// records; any thread may call it.
class BadRecords {
 public:
  explicit BadRecords(std::int64_t budget = 0) : budget_(budget) {}

  /// Counts one more; throws `error` when the budget is used up.
  void skip(const Error& error);

  std::int64_t count() const;
  /// "3 bad records were left out, the first: a.txt:7: ...", or "" if there were none.
  std::string report() const;

 private:
  const std::int64_t budget_;
  mutable std::mutex mutex_;
  std::int64_t count_ = 0;
  std::string first_;
};

}  // namespace troupe
