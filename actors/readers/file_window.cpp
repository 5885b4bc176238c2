#include "troupe/actors/readers/file_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "troupe/actors/readers/record_buffer.h"

namespace troupe {

FileWindow::FileWindow(const std::string& path, Compression compression, std::size_t buffer_bytes)
    : file_(path, compression),
      buffer_bytes_(std::clamp<std::size_t>(buffer_bytes, 1, kMaxRecordBytes)) {}

bool FileWindow::fill(std::size_t wanted) {
  const auto kept = end_ - begin_;
  // A rest larger than half of the buffer makes it grow.
  auto capacity = std::max(buffer_bytes_, 2 * kept);
  if (const auto size = file_.size(); size && *size >= file_.offset()) {
    // Small files get small buffers; one byte more finds a file that has grown.
    const auto known = kept + (*size - file_.offset()) + 1;
    capacity = std::min<std::uint64_t>(std::max(capacity, wanted), known);
  }
  auto buffer = record_buffer(capacity);
  auto* data = record_data(buffer);
  if (kept > 0) std::memcpy(data, data_ + begin_, kept);
  const auto got = file_.read(data + kept, capacity - kept);
  begin_ = 0;
  end_ = kept + got;
  data_ = data;
  buffer_ = std::move(buffer);
  return got > 0;
}

void FileWindow::seek(std::uint64_t offset) {
  file_.seek(offset);
  buffer_ = Tensor();
  data_ = nullptr;
  begin_ = end_ = 0;
}

std::int64_t FileWindow::skip_lines(std::int64_t count) {
  std::int64_t done = 0;
  while (done < count) {
    const auto end = rest().find('\n');
    const bool found = end != std::string_view::npos;
    consume(found ? end + 1 : rest().size());
    if (found)
      ++done;
    else if (!fill())
      break;
  }
  return done;
}

void FileWindow::seek_line(std::uint64_t offset) {
  if (offset == 0) return seek(0);
  // The line that the byte in front of it belongs to starts before it.
  const auto bytes = size();
  seek(bytes ? std::min(offset - 1, *bytes) : offset - 1);
  skip_lines(1);
}

void FileWindow::add_record(RecordRun& run, std::size_t begin, std::size_t end) const {
  if (run.count() == 0) run.bytes = buffer_;
  run.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + begin_ + begin));
  run.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + begin_ + end));
}

}  // namespace troupe
