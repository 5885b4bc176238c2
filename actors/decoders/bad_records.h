#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "troupe/ops/error.h"

namespace troupe {

struct BadRecordOptions {
  std::int64_t budget = 0;  ///< so many are left out, the next one is a failure
  std::string quarantine;   ///< a file for those that are left out; "" for none
  std::uint64_t max_quarantine_bytes = std::uint64_t{64} << 20;  ///< more of them are only counted
  /// A run that goes on: so many were left out before. The file is not overwritten then, and
  /// those that were on their way when the checkpoint was made are in it twice.
  std::int64_t left_out_before = 0;
};

/// What happens to records that cannot be decoded: up to `budget` of them are
/// left out, the next one is a failure. Shared by the decoders of one stream of
/// records; any thread may call it.
///
/// The quarantine file, which is overwritten, has two lines for each record that
/// was left out: "# " and what is wrong where, and the record as it was.
class BadRecords {
 public:
  explicit BadRecords(std::int64_t budget = 0) : BadRecords(BadRecordOptions{budget, {}}) {}
  /// Throws not_found, permission_denied or unavailable for a file that cannot be written.
  explicit BadRecords(BadRecordOptions options);

  /// Counts one more; throws `error` when the budget is used up.
  void skip(const Error& error, std::string_view record = {});

  std::int64_t count() const;
  /// "3 bad records were left out, the first: a.txt:7: ...", or "" if there were
  /// none. The quarantine file is then up to date.
  std::string report() const;

 private:
  void quarantine(std::string_view words, std::string_view record);

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const BadRecordOptions options_;
  mutable std::mutex mutex_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::int64_t count_ = 0;
  std::int64_t kept_ = 0;    // of them in the file
  std::uint64_t bytes_ = 0;  // of the file
  std::string first_;
};

}  // namespace troupe
