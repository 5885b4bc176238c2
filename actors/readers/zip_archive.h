#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/actors/readers/byte_stream.h"
#include "troupe/actors/readers/input_file.h"

namespace troupe {

/// One file inside a zip archive.
struct ZipMember {
  std::string name;
  bool deflated = false;  ///< or stored as it is
  std::uint64_t size = 0;
  std::uint64_t stored_size = 0;    ///< bytes that it takes in the archive
  std::uint64_t header_offset = 0;  ///< of its local header
  std::uint32_t crc = 0;            ///< of its bytes
};

/// What is in a zip archive (PKWARE's APPNOTE 6.3, with Zip64), in the order of its
/// directory. Throws data_loss, naming the file, for what is not a whole archive
/// or promises more bytes than the file has, and unimplemented for members that
/// are encrypted or compressed otherwise than with deflate.
std::vector<ZipMember> read_zip_directory(const std::string& path);

/// The member of that name. Throws not_found with the names that there are.
ZipMember find_zip_member(const std::string& path, std::string_view name);

/// The bytes of a member. Its checksum is compared when it is read from its
/// beginning to its end.
class ZipMemberStream : public ByteStream {
 public:
  /// `title` is the member's name in messages: "x.npz/images".
  ZipMemberStream(const std::string& path, const ZipMember& member, std::string title);
  ~ZipMemberStream() override;
  ZipMemberStream(const ZipMemberStream&) = delete;
  ZipMemberStream& operator=(const ZipMemberStream&) = delete;

  std::size_t read(char* to, std::size_t count) override;
  void seek(std::uint64_t offset) override;
  std::uint64_t offset() const override { return offset_; }
  std::optional<std::uint64_t> size() const override { return member_.size; }
  const std::string& path() const override { return title_; }

 private:
  void rewind();
  std::size_t read_stored(char* to, std::size_t count);
  std::size_t inflate_some(char* to, std::size_t count);
  [[noreturn]] void damaged(std::string_view why) const;

  InputFile file_;
  ZipMember member_;
  std::string title_;
  std::uint64_t begin_ = 0;        // of its bytes in the archive
  std::uint64_t stored_left_ = 0;  // bytes in the archive that have not been read
  std::uint64_t offset_ = 0;
  std::uint64_t checked_ = 0;  // so many bytes are in crc_
  std::uint32_t crc_ = 0;
  z_stream inflate_{};
  bool inflating_ = false;
  std::vector<char> input_;
};

}  // namespace troupe
