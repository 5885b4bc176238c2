#pragma once

#include <string>
#include <vector>

#include "troupe/actors/readers/byte_range.h"
#include "troupe/actors/readers/files_source.h"
#include "troupe/actors/readers/input_file.h"

namespace troupe {

struct TextLineOptions {
  std::vector<std::string> files{};    ///< paths and patterns; "-" is the standard input
  std::int64_t skip_header_lines = 0;  ///< in each file
  bool allow_empty = false;            ///< no line at all is not an error
  std::size_t max_line_bytes = std::size_t{64} << 20;        ///< longer lines are an error
  std::size_t buffer_bytes = (std::size_t{1} << 20) - 4096;  ///< read at once
  Compression compression = Compression::automatic;
  FilePolicy policy{};
  ByteRange range{};  ///< only lines that start in these bytes of a file; see split_lines
};

/// The lines of text files.
///
/// A line ends with "\n" or "\r\n", which are not part of it; the last one of a
/// file may lack its end. Empty lines are records. A byte order mark at the start
/// of a file is skipped. Lines are numbered from 1 in each file, skipped ones too.
///
/// In a range that does not begin with the file nobody knows the number of a line:
/// "big.txt@1048576:7" is the seventh line that starts at that byte or behind it
/// (tail -c +1048577 big.txt shows them, after the end of the line before).
///
/// Throws the errors of expand_files at once. Reading throws, as the policy says,
/// data_loss for damaged compressed data, resource_exhausted for a line that is too
/// long; and invalid_argument when all files together have no line.
class TextLineSource : public FilesSource {
 public:
  explicit TextLineSource(const TextLineOptions& options);

  std::uint64_t block_bytes(const BlockLimits&) const override { return buffer_bytes_; }

 private:
  std::uint64_t buffer_bytes_;
};

}  // namespace troupe
