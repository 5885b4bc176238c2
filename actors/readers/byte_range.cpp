#include "troupe/actors/readers/byte_range.h"

#include <algorithm>

#include "troupe/actors/readers/file_window.h"
#include "troupe/ops/error.h"

namespace troupe {

void expect_readable(const ByteRange& range, const FileWindow& file) {
  if (!range.whole() && !file.size())
    fail(Code::invalid_argument, file.path(),
         ": a compressed file cannot be read in ranges of bytes, nor what is no file");
}

std::vector<ByteRange> split_file(const std::string& path, std::size_t count,
                                  std::uint64_t header_bytes) {
  if (count < 1) fail(Code::invalid_argument, path, ": a file is split in 1 range or more, not 0");
  const auto size = InputFile(path).size();
  if (!size)
    fail(Code::invalid_argument, path, " cannot be split in ranges: it is compressed or no file");
  const auto part = (*size - std::min(header_bytes, *size)) / count;
  std::vector<ByteRange> ranges(count);
  for (std::size_t i = 1; i < count; ++i) {
    const auto cut = std::max<std::uint64_t>(1, header_bytes + i * part);
    ranges[i - 1].end = cut;
    ranges[i].begin = cut;
  }
  return ranges;
}

std::vector<ByteRange> split_lines(const std::string& path, std::size_t count,
                                   std::int64_t skip_header_lines) {
  constexpr std::size_t kBuffer = 64 << 10;
  FileWindow window(path, Compression::automatic, kBuffer);
  window.skip_lines(skip_header_lines);
  return split_file(path, count, window.offset());
}

}  // namespace troupe
