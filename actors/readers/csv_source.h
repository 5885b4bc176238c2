#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/readers/csv_format.h"
#include "troupe/actors/readers/input_file.h"
#include "troupe/actors/readers/record_source.h"

namespace troupe {

struct CsvOptions {
  std::vector<std::string> files{};  ///< paths and patterns: "train-*.csv"; ".gz" is decompressed
  CsvSyntax syntax{};                ///< delimiter and quotes
  bool header = false;               ///< the first record of each file names the columns
  std::int64_t skip_lines = 0;       ///< in front of that, in each file
  bool skip_blank_lines = false;     ///< otherwise they are records without a field
  bool allow_empty = false;          ///< no record at all is not an error
  std::size_t max_record_bytes = std::size_t{64} << 20;      ///< longer records are an error
  std::size_t buffer_bytes = (std::size_t{1} << 20) - 4096;  ///< read at once
};

/// The records of CSV files, as RFC 4180 has them: one a line, except that fields
/// in quotes may hold ends of lines, delimiters and doubled quotes.
///
/// A record ends with "\n" or "\r\n", which are not part of it; the last one of a
/// file may lack its end. A quote counts where a field starts and nowhere else, so a
/// stray one in the middle of a field, which the decoder will complain about, does
/// not swallow the records behind it. A byte order mark at the start of a file is
/// skipped. Records are numbered by the line in which they start, from 1.
///
/// Throws the errors of expand_files at once, those of the first file's header too,
/// and invalid_argument for options that make no sense. Reading throws data_loss for
/// damaged compressed data, for a quote that is never closed, and for a header that
/// differs from that of the first file; resource_exhausted for a record that is too
/// long; and invalid_argument when all files together have no record.
class CsvSource : public RecordSource {
 public:
  explicit CsvSource(CsvOptions options);

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  void seek(const SourcePosition& position) override;
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return files_.size(); }
  std::string describe() const override;

  /// The names of the columns; empty without a header.
  const std::vector<std::string>& header() const { return header_; }

 private:
  const std::string& path() const { return files_[order_[file_index_]]; }
  void open_file();
  void close_file();
  void skip_lines();
  std::vector<std::string> read_header();
  void expect_header(const std::vector<std::string>& found, std::int64_t line) const;
  /// Reads on, behind the unfinished record that is kept; false at the end of the file.
  bool fill();
  /// Fills the run with records up to a limit or the end of the file.
  bool read_run(RecordRun& run, const BlockLimits& limits);
  /// Moves whole records from the buffer to the run; false when there are none.
  bool cut(RecordRun& run, const BlockLimits& limits);
  /// The same for one record, byte by byte.
  bool cut_one(RecordRun& run);
  /// The same for a record without an end, at the end of the file.
  bool cut_last(RecordRun& run);
  void add(RecordRun& run, std::size_t begin, std::size_t end);
  [[noreturn]] void record_too_long(std::int64_t line, std::size_t begin, std::size_t end) const;
  void next_file();

  CsvOptions options_;
  std::vector<std::string> files_;
  std::vector<std::size_t> order_;
  std::vector<std::string> header_;

  std::size_t file_index_ = 0;
  std::unique_ptr<InputFile> file_;
  std::int64_t line_ = 1;  // in which the next record starts
  bool any_ = false;       // whether there was a record since the start

  // Runs that were given out share the buffer, so it is filled once and then only read.
  Tensor buffer_;
  const char* data_ = nullptr;  // bytes in front of it may be read, too
  std::size_t begin_ = 0;       // of the next record
  std::size_t end_ = 0;
  std::vector<std::uint32_t> ends_;
};

}  // namespace troupe
