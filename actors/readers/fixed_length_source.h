#pragma once

#include <string>
#include <vector>

#include "troupe/actors/readers/byte_range.h"
#include "troupe/actors/readers/files_source.h"
#include "troupe/actors/readers/input_file.h"

namespace troupe {

struct FixedLengthOptions {
  std::vector<std::string> files{};  ///< paths and patterns; "-" is the standard input
  std::size_t record_bytes = 0;      ///< at least 1
  std::size_t header_bytes = 0;      ///< left out at the start of each file
  std::size_t footer_bytes = 0;      ///< left out at the end of each file
  std::size_t hop_bytes = 0;         ///< from the start of a record to that of the next; 0 for
                                     ///< record_bytes. Fewer: records overlap; more: there are gaps
  bool allow_empty = false;          ///< no record at all is not an error
  Compression compression = Compression::automatic;
  FilePolicy policy{};
  std::size_t buffer_bytes = (std::size_t{1} << 20) - 4096;  ///< read at once
  ByteRange range{};  ///< only records that start in these bytes of a file; see split_file
};

/// Records of a fixed number of bytes. They are numbered from 1 in each file.
///
/// The records are those of TensorFlow's FixedLengthRecordReader. It ignores what is
/// left at the end of a file and is no whole record; here that is data_loss, so
/// FilePolicy::damaged says what happens.
///
/// Throws invalid_argument for sizes that make no sense, and the errors of expand_files.
class FixedLengthSource : public FilesSource {
 public:
  explicit FixedLengthSource(const FixedLengthOptions& options);
};

}  // namespace troupe
