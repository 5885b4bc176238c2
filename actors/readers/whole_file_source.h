#pragma once

#include <string>
#include <vector>

#include "troupe/actors/readers/files_source.h"
#include "troupe/actors/readers/input_file.h"

namespace troupe {

struct WholeFileOptions {
  std::vector<std::string> files{};  ///< paths and patterns; "-" is the standard input
  std::size_t max_file_bytes = std::size_t{256} << 20;  ///< larger files are an error
  bool allow_empty = false;                             ///< no file at all is not an error
  /// `automatic` decompresses what ends in ".gz"; `none` gives the bytes as they stand.
  Compression compression = Compression::automatic;
  FilePolicy policy{};
};

/// Each file is one record, and its place in messages is the name of the file. A file
/// without a byte is a record without a byte. Small files travel together when
/// BlockLimits::cross_files is set.
///
/// Reading throws, as the policy says, resource_exhausted for a file that is too large,
/// before that much memory is used.
class WholeFileSource : public FilesSource {
 public:
  explicit WholeFileSource(const WholeFileOptions& options);
};

}  // namespace troupe
