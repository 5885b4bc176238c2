#pragma once

#include <string>
#include <vector>

#include "troupe/actors/readers/files_source.h"
#include "troupe/actors/readers/input_file.h"

namespace troupe {

struct TFRecordOptions {
  std::vector<std::string> files{};  ///< paths and patterns; "-" is the standard input
  bool allow_empty = false;          ///< no record at all is not an error
  Compression compression = Compression::automatic;
  bool check_data = true;  ///< compare the checksum of each record; that of its length always is
  std::size_t max_record_bytes = std::size_t{256} << 20;  ///< longer records are an error
  FilePolicy policy{};
  std::size_t buffer_bytes = (std::size_t{1} << 20) - 4096;  ///< read at once
};

/// The records of TFRecord files. They are numbered from 1 in each file.
///
/// Reading throws, as the policy says, data_loss with the number of the record and its
/// byte for a wrong checksum or a record that is cut short, and resource_exhausted for
/// one that is too long.
class TFRecordSource : public FilesSource {
 public:
  explicit TFRecordSource(const TFRecordOptions& options);
};

}  // namespace troupe
