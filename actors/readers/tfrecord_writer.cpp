#include "troupe/actors/readers/tfrecord_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "troupe/actors/readers/deflater.h"
#include "troupe/actors/readers/tfrecord_format.h"
#include "troupe/actors/system_error.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::size_t kBuffer = 256 << 10;

}  // namespace

TFRecordWriter::TFRecordWriter(std::string path, Compression compression) : path_(std::move(path)) {
  if (compression == Compression::automatic)
    compression = path_.ends_with(".gz") ? Compression::gzip : Compression::none;
  if (compression != Compression::none)
    deflater_ = std::make_unique<Deflater>(compression == Compression::gzip);
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) system_error("write", path_);
}

TFRecordWriter::~TFRecordWriter() {
  try {
    close();
  } catch (const Error&) {
  }
}

void TFRecordWriter::write(std::string_view record) {
  if (file_ < 0) fail(Code::failed_precondition, path_, " has been closed: nothing can be written");
  append_tfrecord(buffer_, record);
  if (buffer_.size() >= kBuffer) flush(false);
}

void TFRecordWriter::flush(bool last) {
  if (deflater_)
    write_through(deflater_->compress(buffer_, last));
  else
    write_through(buffer_);
  buffer_.clear();
}

void TFRecordWriter::write_through(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) system_error("write", path_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void TFRecordWriter::close() {
  if (file_ < 0) return;
  struct Closing {
    int& file;
    ~Closing() {
      if (file >= 0) ::close(file);
      file = -1;
    }
  } closing{file_};
  flush(true);
  if (::close(std::exchange(file_, -1)) != 0) system_error("write", path_);
}

}  // namespace troupe
