#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

// A TFRecord, little-endian: the length in 8 bytes, its checksum in 4, the bytes, their
// checksum in 4. Checksums are masked CRC-32C (TensorFlow, core/lib/io/record_writer.cc).

inline constexpr std::size_t kTFRecordHeader = 12;
inline constexpr std::size_t kTFRecordFooter = 4;

void append_tfrecord(std::string& to, std::string_view record);

/// The length that a header of kTFRecordHeader bytes gives, and whether its checksum is right.
struct TFRecordHeader {
  std::uint64_t length = 0;
  bool good = false;
};
TFRecordHeader read_tfrecord_header(const char* header);

/// Whether the checksum that follows the record is that of its bytes.
bool check_tfrecord(std::string_view record);

}  // namespace troupe
