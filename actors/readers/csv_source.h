#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/readers/byte_range.h"
#include "troupe/actors/readers/csv_format.h"
#include "troupe/actors/readers/files_source.h"
#include "troupe/actors/readers/input_file.h"

namespace troupe {

struct CsvOptions {
  std::vector<std::string> files{};  ///< paths and patterns; "-" is the standard input
  CsvSyntax syntax{};                ///< delimiter and quotes
  bool header = false;               ///< the first record of each file names the columns
  std::int64_t skip_lines = 0;       ///< in front of that, in each file
  bool skip_blank_lines = false;     ///< otherwise they are records without a field
  /// Fields in quotes may hold ends of lines. If not, a record is a line, whatever its quotes.
  bool quoted_newlines = true;
  bool allow_empty = false;                                  ///< no record at all is not an error
  std::size_t max_record_bytes = std::size_t{64} << 20;      ///< longer records are an error
  std::size_t buffer_bytes = (std::size_t{1} << 20) - 4096;  ///< read at once
  Compression compression = Compression::automatic;
  FilePolicy policy{};
  /// Only records that start in these bytes of a file, behind the lines that are skipped and
  /// the header; needs records that are lines. See split_lines.
  ByteRange range{};
};

/// The names of the columns, and the file that has them.
struct CsvHeader {
  std::string file;
  std::vector<std::string> names;
};

/// The records of CSV files, as RFC 4180 has them: one a line, except that fields
/// in quotes may hold ends of lines, delimiters and doubled quotes.
///
/// A record ends with "\n" or "\r\n", which are not part of it; the last one of a
/// file may lack its end. A quote counts where a field starts and nowhere else, so a
/// stray one in the middle of a field, which the decoder will complain about, does
/// not swallow the records behind it. A byte order mark at the start of a file is
/// skipped. Records are numbered by the line in which they start, from 1; in a range that
/// does not begin with the file by its lines, as those of TextLineSource.
///
/// Throws the errors of expand_files at once, and invalid_argument for options that
/// make no sense. Reading throws, as the policy says, data_loss for damaged compressed
/// data, for a quote that is never closed, and for a header that differs from that of
/// the file before; resource_exhausted for a record that is too long; and
/// invalid_argument when all files together have no record.
class CsvSource : public FilesSource {
 public:
  explicit CsvSource(const CsvOptions& options);

  std::uint64_t block_bytes(const BlockLimits&) const override { return buffer_bytes_; }

  /// Of the first file that was read; empty before, and without a header.
  const std::vector<std::string>& header() const { return header_->names; }

 private:
  CsvSource(const CsvOptions& options, std::shared_ptr<CsvHeader> header);

  std::uint64_t buffer_bytes_;
  std::shared_ptr<CsvHeader> header_;
};

}  // namespace troupe
