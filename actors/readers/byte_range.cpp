#include "troupe/actors/readers/byte_range.h"

#include <algorithm>

#include "troupe/actors/readers/file_window.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// Byte behind that many lines, or the end of the file.
std::uint64_t end_of_lines(const std::string& path, std::int64_t lines) {
  constexpr std::size_t kBuffer = 64 << 10;
  FileWindow window(path, Compression::automatic, kBuffer);
  while (lines > 0) {
    const auto end = window.rest().find('\n');
    window.consume(end == std::string_view::npos ? window.rest().size() : end + 1);
    if (end != std::string_view::npos) --lines;
    if (window.rest().empty() && !window.fill()) break;
  }
  return window.offset();
}

}  // namespace

std::vector<ByteRange> split_lines(const std::string& path, std::size_t count,
                                   std::int64_t skip_header_lines) {
  if (count < 1) fail(Code::invalid_argument, path, ": a file is split in 1 range or more, not 0");
  const auto size = InputFile(path).size();
  if (!size)
    fail(Code::invalid_argument, path, " cannot be split in ranges: it is compressed or no file");
  const auto first = end_of_lines(path, skip_header_lines);
  const auto part = (*size - std::min(first, *size)) / count;
  std::vector<ByteRange> ranges(count);
  for (std::size_t i = 1; i < count; ++i) {
    const auto cut = std::max<std::uint64_t>(1, first + i * part);
    ranges[i - 1].end = cut;
    ranges[i].begin = cut;
  }
  return ranges;
}

}  // namespace troupe
