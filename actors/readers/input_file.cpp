#include "troupe/actors/readers/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include "troupe/actors/system_error.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

// What one call of the system may be asked for.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
constexpr std::size_t kSkipBytes = 64 << 10;

Compression compression_of(const std::string& path, Compression asked) {
  if (asked != Compression::automatic) return asked;
  return path.ends_with(".gz") ? Compression::gzip : Compression::none;
}

}  // namespace

InputFile::InputFile(std::string path, Compression compression)
    : path_(std::move(path)), compression_(compression_of(path_, compression)) {
  descriptor_ = path_ == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                             : open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) system_error("read", path_);
  posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  size_at_first_ = raw_size();
  start_inflater();
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::start_inflater() {
  if (compression_ == Compression::none) return;
  inflater_ = std::make_unique<Inflater>(
      compression_ == Compression::gzip ? Inflater::Format::gzip : Inflater::Format::zlib,
      [this](char* to, std::size_t count) { return read_raw(to, count); });
}

std::size_t InputFile::read(char* to, std::size_t count) {
  std::size_t done = 0;
  try {
    while (done < count) {
      const auto got = read_some(to + done, std::min(count - done, kMostAtOnce));
      if (got == 0) break;
      done += got;
      offset_ += got;
    }
  } catch (const Error&) {
    if (done == 0) throw;  // otherwise the next call fails
  }
  return done;
}

std::size_t InputFile::read_some(char* to, std::size_t count) {
  if (!inflater_) return read_raw(to, count);
  try {
    return inflater_->read(to, count);
  } catch (const Error& error) {
    if (error.code() != Code::data_loss) throw;
    fail(Code::data_loss, path_, ": ", error.what(), " after ", offset_, " decompressed bytes");
  }
}

std::size_t InputFile::read_raw(char* to, std::size_t count) {
  while (true) {
    const auto got = ::read(descriptor_, to, count);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) system_error("read", path_);
    raw_offset_ += static_cast<std::uint64_t>(got);
    if (got == 0 && size_at_first_ && raw_offset_ < *size_at_first_)
      fail(Code::data_loss, path_, ": the file ends at byte ", raw_offset_, ", but had ",
           *size_at_first_, " bytes when it was opened: it has been changed");
    return static_cast<std::size_t>(got);
  }
}

void InputFile::rewind() {
  if (raw_offset_ > 0 && lseek(descriptor_, 0, SEEK_SET) != 0)
    fail(Code::failed_precondition, path_ == "-" ? "the standard input" : path_,
         " can be read only once: cannot go back to its start");
  offset_ = raw_offset_ = 0;
  start_inflater();
}

void InputFile::seek(std::uint64_t offset) {
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()))
    fail(Code::invalid_argument, path_, ": there is no byte ", offset);
  if (const auto bytes = size()) {
    if (offset > *bytes)
      fail(Code::data_loss, path_, ": cannot go on at byte ", offset, ": the file has ", *bytes);
    if (lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0) system_error("read", path_);
    offset_ = raw_offset_ = offset;
    return;
  }
  if (offset < offset_) rewind();
  std::vector<char> skipped(kSkipBytes);
  while (offset_ < offset)
    if (read(skipped.data(), std::min<std::uint64_t>(skipped.size(), offset - offset_)) == 0)
      fail(Code::data_loss, path_, ": cannot go on at byte ", offset, ": there are only ", offset_);
}

std::optional<std::uint64_t> InputFile::raw_size() const {
  struct stat info {};
  if (fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(info.st_size);
}

std::optional<std::uint64_t> InputFile::size() const {
  return inflater_ ? std::nullopt : raw_size();
}

void expect_readable_again(const std::string& path) {
  struct stat info {};
  if (path == "-" || (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)))
    fail(Code::invalid_argument, path,
         " is no regular file: it can be read only once, and its header is looked at first; "
         "write it to a file");
}

}  // namespace troupe
