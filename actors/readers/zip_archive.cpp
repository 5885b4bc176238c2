#include "troupe/actors/readers/zip_archive.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64LocatorSignature = 0x07064b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kEntrySignature = 0x02014b50;
constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64LocatorBytes = 20;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kMaxComment = 0xFFFF;
constexpr std::uint32_t kMask32 = 0xFFFFFFFF;  // "see the Zip64 field"
// A million members; numpy.savez writes one for each array.
constexpr std::uint64_t kMaxDirectoryBytes = std::uint64_t{64} << 20;
constexpr std::size_t kInputBytes = std::size_t{256} << 10;

/// A little-endian number.
template <class T>
T load(const char* bytes) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;)
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[i]));
  return value;
}

class Directory {
 public:
  explicit Directory(const std::string& path) : file_(path) {
    const auto size = file_.size();
    if (!size) fail(Code::invalid_argument, path, ": a zip archive must be a plain file");
    file_size_ = *size;
  }

  std::vector<ZipMember> read() {
    find_end();
    const auto bytes = bytes_at(offset_, size_);
    std::vector<ZipMember> members;
    auto rest = std::span<const char>(bytes);
    while (!rest.empty()) {
      if (rest.size() < kEntryBytes || load<std::uint32_t>(rest.data()) != kEntrySignature)
        damaged("entry ", members.size(), " of its directory is none");
      const std::size_t name = load<std::uint16_t>(&rest[28]);
      const std::size_t extra = load<std::uint16_t>(&rest[30]);
      const std::size_t comment = load<std::uint16_t>(&rest[32]);
      const auto whole = kEntryBytes + name + extra + comment;
      if (whole > rest.size()) damaged("entry ", members.size(), " of its directory is cut short");
      members.push_back(member(rest.first(whole), name, extra));
      rest = rest.subspan(whole);
    }
    if (members.size() != count_)
      damaged("it promises ", count_, " members, but lists ", members.size());
    return members;
  }

 private:
  template <class... Parts>
  [[noreturn]] void damaged(const Parts&... parts) const {
    fail(Code::data_loss, file_.path(), ": not a whole zip archive: ", parts...);
  }

  void expect_bytes(std::uint64_t offset, std::uint64_t count) const {
    if (offset > file_size_ || count > file_size_ - offset)
      damaged(count, " bytes from byte ", offset, " are asked for, but the file has ", file_size_);
  }

  std::vector<char> bytes_at(std::uint64_t offset, std::uint64_t count) {
    expect_bytes(offset, count);
    std::vector<char> bytes(static_cast<std::size_t>(count));
    file_.seek(offset);
    if (file_.read(bytes.data(), bytes.size()) < bytes.size())
      damaged("it ends at byte ", file_.offset());
    return bytes;
  }

  /// The end record stands at the end of the file, in front of a comment.
  void find_end() {
    if (file_size_ < kEndBytes) damaged("it has only ", file_size_, " bytes");
    const auto tail_size = std::min<std::uint64_t>(file_size_, kEndBytes + kMaxComment);
    const auto tail = bytes_at(file_size_ - tail_size, tail_size);
    for (auto at = tail.size() - kEndBytes + 1; at-- > 0;) {
      const char* end = &tail[at];
      if (load<std::uint32_t>(end) != kEndSignature ||
          load<std::uint16_t>(end + 20) != tail.size() - at - kEndBytes)
        continue;
      count_ = load<std::uint16_t>(end + 10);
      size_ = load<std::uint32_t>(end + 12);
      offset_ = load<std::uint32_t>(end + 16);
      if (count_ == 0xFFFF || size_ == kMask32 || offset_ == kMask32)
        find_end_64(file_size_ - tail_size + at);
      expect_bytes(offset_, size_);
      if (size_ > kMaxDirectoryBytes)
        fail(Code::resource_exhausted, file_.path(), ": the directory of the zip archive has ",
             size_, " bytes, more than ", kMaxDirectoryBytes);
      return;
    }
    damaged("it has no directory at its end");
  }

  void find_end_64(std::uint64_t end) {
    if (end < kEnd64LocatorBytes) damaged("it has no Zip64 locator");
    const auto locator = bytes_at(end - kEnd64LocatorBytes, kEnd64LocatorBytes);
    // Without one the numbers are what they look like.
    if (load<std::uint32_t>(locator.data()) != kEnd64LocatorSignature) return;
    const auto record = bytes_at(load<std::uint64_t>(&locator[8]), kEnd64Bytes);
    if (load<std::uint32_t>(record.data()) != kEnd64Signature)
      damaged("there is no Zip64 end record where one should be");
    count_ = load<std::uint64_t>(&record[32]);
    size_ = load<std::uint64_t>(&record[40]);
    offset_ = load<std::uint64_t>(&record[48]);
  }

  ZipMember member(std::span<const char> entry, std::size_t name, std::size_t extra) const {
    ZipMember m;
    m.name.assign(&entry[kEntryBytes], name);
    m.crc = load<std::uint32_t>(&entry[16]);
    m.stored_size = load<std::uint32_t>(&entry[20]);
    m.size = load<std::uint32_t>(&entry[24]);
    m.header_offset = load<std::uint32_t>(&entry[42]);
    read_zip64(m, entry.subspan(kEntryBytes + name, extra));
    constexpr unsigned kEncrypted = 1;
    if ((load<std::uint16_t>(&entry[8]) & kEncrypted) != 0)
      fail(Code::unimplemented, file_.path(), ": member '", m.name, "' is encrypted");
    const auto method = load<std::uint16_t>(&entry[10]);
    constexpr unsigned kStored = 0;
    constexpr unsigned kDeflated = 8;
    if (method != kStored && method != kDeflated)
      fail(Code::unimplemented, file_.path(), ": member '", m.name, "' is compressed with method ",
           method, "; 0 (stored) and 8 (deflated) can be read");
    m.deflated = method == kDeflated;
    if (m.stored_size > file_size_ || m.header_offset > file_size_ - m.stored_size)
      damaged("member '", m.name, "' is said to take ", m.stored_size, " bytes from byte ",
              m.header_offset, ", but the file has ", file_size_);
    if (!m.deflated && m.size != m.stored_size)
      damaged("member '", m.name, "' is stored as it is, but in ", m.stored_size,
              " bytes instead of ", m.size);
    return m;
  }

  /// Takes the numbers that did not fit 32 bits from the extra field that has them.
  void read_zip64(ZipMember& m, std::span<const char> extra) const {
    constexpr std::size_t kFieldHeader = 4;
    constexpr unsigned kZip64 = 1;
    while (extra.size() >= kFieldHeader) {
      const auto id = load<std::uint16_t>(extra.data());
      const std::size_t size = load<std::uint16_t>(&extra[2]);
      if (size > extra.size() - kFieldHeader) return;
      auto field = extra.subspan(kFieldHeader, size);
      extra = extra.subspan(kFieldHeader + size);
      if (id != kZip64) continue;
      for (auto* number : {&m.size, &m.stored_size, &m.header_offset}) {
        if (*number != kMask32) continue;
        if (field.size() < sizeof(std::uint64_t))
          damaged("the Zip64 field of member '", m.name, "' is cut short");
        *number = load<std::uint64_t>(field.data());
        field = field.subspan(sizeof(std::uint64_t));
      }
      return;
    }
  }

  InputFile file_;
  std::uint64_t file_size_ = 0;
  std::uint64_t count_ = 0;   // members
  std::uint64_t size_ = 0;    // of the directory
  std::uint64_t offset_ = 0;  // of the directory
};

}  // namespace

std::vector<ZipMember> read_zip_directory(const std::string& path) {
  return Directory(path).read();
}

ZipMember find_zip_member(const std::string& path, std::string_view name) {
  std::string known;
  const auto members = read_zip_directory(path);
  for (const auto& member : members) {
    if (member.name == name) return member;
    known += text(known.empty() ? "" : ", ", member.name);
  }
  fail(Code::not_found, path, " has no member '", name, "'; there are: ", known);
}

ZipMemberStream::ZipMemberStream(const std::string& path, const ZipMember& member,
                                 std::string title)
    : file_(path), member_(member), title_(std::move(title)) {
  std::array<char, kLocalBytes> local{};
  file_.seek(member_.header_offset);
  if (file_.read(local.data(), local.size()) < local.size() ||
      load<std::uint32_t>(local.data()) != kLocalSignature)
    damaged("there is no local header where one should be");
  begin_ = member_.header_offset + kLocalBytes + load<std::uint16_t>(&local[26]) +
           load<std::uint16_t>(&local[28]);
  const auto size = file_.size().value_or(0);
  if (begin_ > size || member_.stored_size > size - begin_) damaged("the archive ends in it");
  if (member_.deflated) {
    // Negative: without the header and the checksum of zlib's own format.
    if (inflateInit2(&inflate_, -MAX_WBITS) != Z_OK)
      fail(Code::resource_exhausted, title_, ": no memory to decompress it");
    inflating_ = true;
    input_.resize(kInputBytes);
  }
  rewind();
}

ZipMemberStream::~ZipMemberStream() {
  if (inflating_) inflateEnd(&inflate_);
}

void ZipMemberStream::damaged(std::string_view why) const {
  fail(Code::data_loss, title_, ": damaged member of a zip archive: ", why);
}

void ZipMemberStream::rewind() {
  file_.seek(begin_);
  stored_left_ = member_.stored_size;
  offset_ = checked_ = 0;
  crc_ = 0;
  if (!inflating_) return;
  inflateReset(&inflate_);
  inflate_.avail_in = 0;
}

std::size_t ZipMemberStream::read(char* to, std::size_t count) {
  std::size_t done = 0;
  constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 30;  // zlib counts in 32 bits
  while (done < count && offset_ < member_.size) {
    const auto wanted = static_cast<std::size_t>(
        std::min({std::uint64_t{count - done}, member_.size - offset_, kMostAtOnce}));
    const auto got = inflating_ ? inflate_some(to + done, wanted) : read_stored(to + done, wanted);
    if (checked_ == offset_) {
      crc_ = static_cast<std::uint32_t>(
          crc32(crc_, reinterpret_cast<const Bytef*>(to + done), static_cast<uInt>(got)));
      checked_ += got;
    }
    done += got;
    offset_ += got;
    if (checked_ == member_.size && crc_ != member_.crc)
      damaged("its bytes do not have the checksum that the archive promises");
  }
  return done;
}

std::size_t ZipMemberStream::read_stored(char* to, std::size_t count) {
  const auto got = file_.read(to, count);
  if (got == 0) damaged(text("the archive ends after ", offset_, " of its bytes"));
  return got;
}

std::size_t ZipMemberStream::inflate_some(char* to, std::size_t count) {
  inflate_.next_out = reinterpret_cast<Bytef*>(to);
  inflate_.avail_out = static_cast<uInt>(count);
  while (inflate_.avail_out == count) {
    if (inflate_.avail_in == 0 && stored_left_ > 0) {
      const auto got = file_.read(input_.data(), static_cast<std::size_t>(std::min<std::uint64_t>(
                                                     input_.size(), stored_left_)));
      stored_left_ = got == 0 ? 0 : stored_left_ - got;
      inflate_.next_in = reinterpret_cast<Bytef*>(input_.data());
      inflate_.avail_in = static_cast<uInt>(got);
    }
    const int result = inflate(&inflate_, Z_NO_FLUSH);
    if (inflate_.avail_out < count) break;
    if (result == Z_OK && inflate_.avail_in == 0 && stored_left_ > 0) continue;
    damaged(text("it cannot be decompressed after ", offset_, " of ", member_.size, " bytes"));
  }
  return count - inflate_.avail_out;
}

void ZipMemberStream::seek(std::uint64_t offset) {
  if (offset > member_.size)
    fail(Code::data_loss, title_, ": cannot go on at byte ", offset, ": there are ", member_.size);
  if (!inflating_) {
    file_.seek(begin_ + offset);
    offset_ = offset;
    checked_ = offset == 0 ? 0 : checked_;
    if (offset == 0) crc_ = 0;
    return;
  }
  if (offset < offset_) rewind();
  std::vector<char> skipped(kInputBytes);
  while (offset_ < offset)
    read(skipped.data(),
         static_cast<std::size_t>(std::min<std::uint64_t>(skipped.size(), offset - offset_)));
}

}  // namespace troupe
