#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "troupe/actors/readers/byte_stream.h"
#include "troupe/actors/readers/inflater.h"

namespace troupe {

/// How a file is compressed.
enum class Compression {
  automatic,  ///< gzip when its name ends in ".gz", otherwise not at all
  none,
  gzip,
  zlib,
};

/// The bytes of a file, one after the other, decompressed on the way. Positions are
/// of the decompressed bytes. "-" is the standard input.
class InputFile : public ByteStream {
 public:
  /// Throws not_found, permission_denied or unavailable.
  explicit InputFile(std::string path, Compression compression = Compression::automatic);
  ~InputFile() override;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Fills `to` with up to `count` bytes: fewer only at the end of the file, and in
  /// front of a failure, which the next call throws: nothing that can be read is lost.
  /// Throws data_loss, naming the file and the byte, when the compressed data is
  /// damaged or cut short, and when a file has become shorter since it was opened.
  std::size_t read(char* to, std::size_t count) override;

  /// Throws data_loss when the file is shorter than that, and failed_precondition for
  /// the way back in something that can be read only once, such as a pipe.
  void seek(std::uint64_t offset) override;

  std::uint64_t offset() const override { return offset_; }
  const std::string& path() const override { return path_; }
  bool compressed() const { return inflater_ != nullptr; }
  /// Bytes in the file; unknown when it is compressed or not a regular file.
  std::optional<std::uint64_t> size() const override;

 private:
  std::size_t read_raw(char* to, std::size_t count);
  std::size_t read_some(char* to, std::size_t count);
  void rewind();
  void start_inflater();
  std::optional<std::uint64_t> raw_size() const;

  std::string path_;
  Compression compression_;
  int descriptor_ = -1;
  std::uint64_t offset_ = 0;
  std::uint64_t raw_offset_ = 0;                // of the bytes as they stand in the file
  std::optional<std::uint64_t> size_at_first_;  // raw
  std::unique_ptr<Inflater> inflater_;
};

/// Throws invalid_argument for a pipe or a device, which can be read only once: for
/// whoever looks at the header of a file before its records are read.
void expect_readable_again(const std::string& path);

}  // namespace troupe
