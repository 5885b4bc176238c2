#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace troupe {

class FileWindow;

/// Records of a file that start in bytes [begin, end).
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();

  bool whole() const { return begin == 0 && end == std::numeric_limits<std::uint64_t>::max(); }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// Throws invalid_argument for a part of a file that is compressed or has no size.
void expect_readable(const ByteRange& range, const FileWindow& file);

/// `count` ranges of about the same size that together are a file that is not compressed,
/// for as many readers that read it at the same time. The first one has the first
/// `header_bytes` on top.
///
/// Throws invalid_argument for less than one range and for a file whose size is not
/// known, and the errors of InputFile.
std::vector<ByteRange> split_file(const std::string& path, std::size_t count,
                                  std::uint64_t header_bytes = 0);

/// The same with a header of lines. Give each reader the same `skip_header_lines`.
std::vector<ByteRange> split_lines(const std::string& path, std::size_t count,
                                   std::int64_t skip_header_lines = 0);

}  // namespace troupe
