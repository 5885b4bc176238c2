#include "troupe/actors/checkpoint/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "troupe/actors/system_error.h"

namespace troupe {
namespace {

constexpr std::size_t kBuffer = 1 << 18;

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporary_(path_ + std::string(kSuffix)) {
  file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) system_error("create", temporary_);
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t size) {
  bytes_ += size;
  if (buffer_.size() + size > kBuffer) flush();
  if (size > kBuffer)
    write_through(static_cast<const char*>(data), size);
  else
    buffer_.append(static_cast<const char*>(data), size);
}

void AtomicFile::flush() {
  write_through(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::write_through(const char* data, std::size_t size) {
  while (size > 0) {
    const auto written = ::write(file_, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) system_error("write", temporary_);
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  flush();
  if (::fsync(file_) != 0) system_error("sync", temporary_);
  const int file = std::exchange(file_, -1);
  if (::close(file) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int number = errno;
    ::unlink(temporary_.c_str());
    errno = number;
    system_error("rename to", path_);
  }
}

void sync_directory(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) system_error("open directory", directory);
  const int result = ::fsync(file);
  const int number = errno;
  ::close(file);
  errno = number;
  // Some network file systems have nothing to sync for a directory and say EINVAL.
  if (result != 0 && number != EINVAL) system_error("sync directory", directory);
}

}  // namespace troupe
