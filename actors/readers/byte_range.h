#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace troupe {

/// Records of a file that start in bytes [begin, end).
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();

  bool whole() const { return begin == 0 && end == std::numeric_limits<std::uint64_t>::max(); }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// `count` ranges of about the same size in which each line of a file that is not
/// compressed lies once: for as many readers that read it at the same time. Give each
/// of them the same `skip_header_lines`.
///
/// Throws invalid_argument for less than one range and for a file whose size is not
/// known, and the errors of InputFile.
std::vector<ByteRange> split_lines(const std::string& path, std::size_t count,
                                   std::int64_t skip_header_lines = 0);

}  // namespace troupe
