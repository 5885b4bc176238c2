#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/readers/byte_stream.h"
#include "troupe/actors/readers/npy_format.h"
#include "troupe/actors/readers/record_source.h"

namespace troupe {

struct NpyOptions {
  std::vector<std::string> files;  ///< paths and patterns: "train-*.npy", or .npz with a member
  std::string member{};            ///< name of the array in each .npz file: "images"
  bool allow_empty = false;        ///< no row at all is not an error
};

/// The rows of arrays that NumPy has saved, along the first axis: of .npy files, or
/// of one array in .npz files, one file after the other. A record is a row, with the
/// bytes of its values in the order of this machine. Rows are numbered from 1 in
/// each file.
///
/// The constructor reads the header of each file and throws the errors of
/// expand_files and read_npy_header, and invalid_argument when two files differ in
/// dtype or in the shape of their rows. Reading throws data_loss, naming the file
/// and the byte, when the data end early or are damaged.
class NpySource : public RecordSource {
 public:
  explicit NpySource(NpyOptions options);

  /// Dtype and shape of the rows; `count` is that of all files together.
  const NpyHeader& header() const { return header_; }

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  void seek(const SourcePosition& position) override;
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return files_.size(); }
  std::uint64_t block_bytes(const BlockLimits& limits) const override {
    return std::max<std::uint64_t>(
        header_.row_bytes(),
        std::min<std::uint64_t>(limits.bytes, limits.records * header_.row_bytes()));
  }
  std::string describe() const override;

 private:
  const std::string& path() const { return files_[order_[file_index_]]; }
  void open_file();

  NpyOptions options_;
  std::vector<std::string> files_;
  std::vector<std::size_t> order_;
  NpyHeader header_;

  std::size_t file_index_ = 0;
  std::unique_ptr<ByteStream> stream_;
  NpyHeader open_;         // of the open file
  std::int64_t next_ = 0;  // row of the open file, from 0
  bool any_ = false;
};

}  // namespace troupe
