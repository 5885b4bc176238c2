#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "troupe/actors/readers/input_file.h"
#include "troupe/messages/payloads.h"

namespace troupe {

/// The part of a file that is in memory. Runs share its buffer, so each buffer is
/// filled once and then only read; what is left of it moves to the next one.
class FileWindow {
 public:
  FileWindow(const std::string& path, Compression compression, std::size_t buffer_bytes);

  /// What has been read and not been consumed. Bytes in front of it may be read, too.
  std::string_view rest() const { return {data_ + begin_, end_ - begin_}; }
  /// Byte of the file with which the rest begins.
  std::uint64_t offset() const { return file_.offset() - (end_ - begin_); }
  const std::string& path() const { return file_.path(); }
  bool compressed() const { return file_.compressed(); }
  /// Of the file; unknown when it is compressed or not a regular file.
  std::optional<std::uint64_t> size() const { return file_.size(); }

  /// Reads on behind the rest, in a buffer of its own; false at the end of the file.
  /// The buffer grows with the rest, and at once to `wanted` bytes where the file is
  /// known to have them.
  bool fill(std::size_t wanted = 0);
  void consume(std::size_t bytes) { begin_ += bytes; }
  void seek(std::uint64_t offset);
  /// Consumes that many lines, or what there is; returns how many had an end.
  std::int64_t skip_lines(std::int64_t count);
  /// Goes to the first line that starts at that byte or behind it, or to the end.
  void seek_line(std::uint64_t offset);

  /// Adds bytes [begin, end) of the rest as a record. All records of a run must be
  /// added between two calls of fill().
  void add_record(RecordRun& run, std::size_t begin, std::size_t end) const;

 private:
  InputFile file_;
  std::size_t buffer_bytes_;
  Tensor buffer_;
  const char* data_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace troupe
