#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/readers/input_file.h"
#include "troupe/actors/readers/record_source.h"

namespace troupe {

struct TextLineOptions {
  std::vector<std::string> files;      ///< paths and patterns: "train-*.txt"; ".gz" is decompressed
  std::int64_t skip_header_lines = 0;  ///< in each file
  bool allow_empty = false;            ///< no line at all is not an error
  std::size_t max_line_bytes = std::size_t{64} << 20;        ///< longer lines are an error
  std::size_t buffer_bytes = (std::size_t{1} << 20) - 4096;  ///< read at once
};

/// The lines of text files.
///
/// A line ends with "\n" or "\r\n", which are not part of it; the last one of a
/// file may lack its end. Empty lines are records. A byte order mark at the start
/// of a file is skipped. Lines are numbered from 1 in each file, skipped ones too.
///
/// Throws the errors of expand_files at once. Reading throws data_loss for damaged
/// compressed data, resource_exhausted for a line that is too long, and
/// invalid_argument when all files together have no line.
class TextLineSource : public RecordSource {
 public:
  explicit TextLineSource(TextLineOptions options);

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  void seek(const SourcePosition& position) override;
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return files_.size(); }
  std::string describe() const override;

 private:
  const std::string& path() const { return files_[order_[file_index_]]; }
  void open_file();
  void close_file();
  [[noreturn]] void line_too_long() const;
  /// Reads on, behind the unfinished line that is kept; false at the end of the file.
  bool fill();
  /// Moves whole lines from the buffer to the run; false when there are none.
  bool cut(RecordRun& run, const BlockLimits& limits);
  /// The same for a line without an end, at the end of the file.
  bool cut_last(RecordRun& run);
  void add(RecordRun& run, std::size_t end);
  void next_file();

  TextLineOptions options_;
  std::vector<std::string> files_;
  std::vector<std::size_t> order_;

  std::size_t file_index_ = 0;
  std::unique_ptr<InputFile> file_;
  std::int64_t line_ = 1;  // number of the next line
  bool any_ = false;       // whether there was a record since the start

  // Runs that were given out share the buffer, so it is filled once and then only read.
  Tensor buffer_;
  const char* data_ = nullptr;  // bytes in front of it may be read, too
  std::size_t begin_ = 0;       // of the next line
  std::size_t scanned_ = 0;     // there is no end of a line in [begin_, scanned_)
  std::size_t end_ = 0;
};

}  // namespace troupe
