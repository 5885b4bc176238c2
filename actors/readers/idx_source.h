#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/readers/idx_format.h"
#include "troupe/actors/readers/input_file.h"
#include "troupe/actors/readers/record_source.h"

namespace troupe {

struct IdxOptions {
  std::vector<std::string> files;  ///< paths and patterns; ".gz" is decompressed
  bool allow_empty = false;        ///< no item at all is not an error
};

/// The items of IDX files: each record is one item along the first axis, as the
/// bytes that stand in the file. Items are numbered from 1 in each file.
///
/// The constructor reads the header of each file and throws the errors of
/// expand_files and read_idx_header, and invalid_argument when the items of two
/// files differ in dtype or shape. Reading throws data_loss, naming the file and
/// the byte, when the data ends early.
class IdxSource : public RecordSource {
 public:
  explicit IdxSource(IdxOptions options);

  /// Dtype and shape of the items; `count` is that of the first file.
  const IdxHeader& header() const { return header_; }

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  void seek(const SourcePosition& position) override;
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return files_.size(); }
  std::uint64_t block_bytes(const BlockLimits& limits) const override {
    return std::max<std::uint64_t>(
        header_.item_bytes(),
        std::min<std::uint64_t>(limits.bytes, limits.records * header_.item_bytes()));
  }
  std::string describe() const override;

 private:
  const std::string& path() const { return files_[order_[file_index_]]; }
  void open_file();

  IdxOptions options_;
  std::vector<std::string> files_;
  std::vector<std::size_t> order_;
  IdxHeader header_;

  std::size_t file_index_ = 0;
  std::unique_ptr<InputFile> file_;
  std::int64_t items_ = 0;  // in the open file
  std::int64_t next_ = 0;   // item of the open file, from 0
  bool any_ = false;
};

}  // namespace troupe
