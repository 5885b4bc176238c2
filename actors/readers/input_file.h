#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// The bytes of a file, one after the other; those of a file whose name ends in
/// ".gz" are decompressed on the way. Positions are of the decompressed bytes.
class InputFile {
 public:
  /// Throws not_found, permission_denied or unavailable.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Fills `to` with up to `count` bytes: fewer only at the end of the file.
  /// Throws data_loss, naming the file and the byte, when the compressed data is
  /// damaged or cut short.
  std::size_t read(char* to, std::size_t count);

  /// Throws data_loss when the file is shorter than that.
  void seek(std::uint64_t offset);

  std::uint64_t offset() const { return offset_; }
  const std::string& path() const { return path_; }
  /// Bytes in the file; unknown when it is compressed or not a regular file.
  std::optional<std::uint64_t> size() const;

 private:
  std::size_t read_some(char* to, std::size_t count);
  std::size_t inflate_some(char* to, std::size_t count);

  struct CloseGz {
    void operator()(gzFile file) const { gzclose(file); }
  };
  std::string path_;
  std::uint64_t offset_ = 0;
  int descriptor_ = -1;  // of a plain file
  std::unique_ptr<gzFile_s, CloseGz> gz_;
};

}  // namespace troupe
