#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "troupe/ops/error.h"

namespace troupe {

/// Which files were left out, wholly or from some record on, and why. Any thread may
/// call it, and several sources may share one.
class FileReport {
 public:
  struct Entry {
    std::string file;
    std::string why;         ///< in the words of the error, for the first time
    std::int64_t times = 1;  ///< in several epochs, say
  };

  /// `warn` gets a line for each file that is left out with FileAction::warn; by
  /// default the line goes to the standard error stream.
  explicit FileReport(std::function<void(const std::string&)> warn = {});

  void left_out(const std::string& file, const std::string& why, bool warn);

  /// Different files.
  std::int64_t count() const;
  /// The first thousand of them.
  std::vector<Entry> entries() const;
  /// "2 files were not read to their end, the first: a.txt: no such file", or "".
  std::string words() const;

 private:
  std::function<void(const std::string&)> warn_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::int64_t count_ = 0;
};

/// What happens when a file is not what it should be.
enum class FileAction {
  fail,  ///< reading fails, with the name of the file
  skip,  ///< the file is left out, or what remains of it, and the report says so
  warn,  ///< the same, and a line on the standard error stream
};

/// What happens to files that cannot be read, and who keeps the account of it.
struct FilePolicy {
  FileAction missing = FileAction::fail;     ///< no such file, no match for a pattern
  FileAction unreadable = FileAction::fail;  ///< not ours to read, or the system fails
  FileAction empty = FileAction::skip;       ///< without any record
  FileAction damaged = FileAction::fail;     ///< cut short, changed while it is read, wrong bytes
  std::shared_ptr<FileReport> report{};      ///< made by the source when there is none

  /// Leaves the file out as it says, or throws `error` again. `opened` tells whether
  /// there was a file to read.
  void handle(const Error& error, const std::string& file, bool opened) const;
  void handle_empty(const std::string& file) const;
  /// Whether a file may be left out that has, or may have, records.
  bool leaves_out() const {
    return missing != FileAction::fail || unreadable != FileAction::fail ||
           damaged != FileAction::fail;
  }

 private:
  void apply(FileAction action, const Error& error, const std::string& file) const;
};

}  // namespace troupe
