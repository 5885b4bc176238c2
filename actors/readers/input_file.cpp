#include "troupe/actors/readers/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "troupe/actors/system_error.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr unsigned kCompressedBuffer = 256 << 10;
// What one call of the system or of zlib may be asked for.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  if (path_.ends_with(".gz")) {
    gz_.reset(gzopen(path_.c_str(), "rb"));
    if (!gz_) system_error("read", path_);
    gzbuffer(gz_.get(), kCompressedBuffer);
  } else {
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) system_error("read", path_);
    posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::size_t InputFile::read(char* to, std::size_t count) {
  std::size_t done = 0;
  while (done < count) {
    const auto wanted = std::min(count - done, kMostAtOnce);
    const auto got = gz_ ? inflate_some(to + done, wanted) : read_some(to + done, wanted);
    if (got == 0) break;
    done += got;
    offset_ += got;
  }
  return done;
}

std::size_t InputFile::read_some(char* to, std::size_t count) {
  while (true) {
    const auto got = ::read(descriptor_, to, count);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) system_error("read", path_);
  }
}

std::size_t InputFile::inflate_some(char* to, std::size_t count) {
  const int got = gzread(gz_.get(), to, static_cast<unsigned>(count));
  if (got > 0) {
    if (gzdirect(gz_.get()) != 0)
      fail(Code::data_loss, path_, ": not gzip data, though its name ends in .gz");
    return static_cast<std::size_t>(got);
  }
  int code = Z_OK;
  const char* words = gzerror(gz_.get(), &code);
  if (code == Z_ERRNO) system_error("read", path_);
  if (code != Z_OK && code != Z_STREAM_END)
    fail(Code::data_loss, path_, ": the compressed data is damaged or cut short after ", offset_,
         " decompressed bytes (", words, ")");
  return 0;
}

void InputFile::seek(std::uint64_t offset) {
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()))
    fail(Code::invalid_argument, path_, ": there is no byte ", offset);
  if (const auto bytes = size(); bytes && offset > *bytes)
    fail(Code::data_loss, path_, ": cannot go on at byte ", offset, ": the file has ", *bytes);
  const auto target = static_cast<off_t>(offset);
  const bool moved =
      gz_ ? gzseek(gz_.get(), target, SEEK_SET) >= 0 : lseek(descriptor_, target, SEEK_SET) >= 0;
  if (!moved) fail(Code::unavailable, path_, ": cannot go on at byte ", offset);
  offset_ = offset;
}

std::optional<std::uint64_t> InputFile::size() const {
  struct stat info {};
  if (gz_ || fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace troupe
