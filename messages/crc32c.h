#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace troupe {

/// CRC-32C, the Castagnoli polynomial of RFC 3720 (iSCSI): the checksum of record
/// files, event files and checkpoints. Uses the processor's instruction where it
/// has one. `crc` is the checksum of the bytes that came before: 0 at the start.
std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t crc = 0);

inline std::uint32_t crc32c(std::span<const std::byte> bytes) {
  return crc32c(bytes.data(), bytes.size());
}
inline std::uint32_t crc32c(std::string_view bytes) { return crc32c(bytes.data(), bytes.size()); }

/// The same from tables alone, whatever the processor.
std::uint32_t crc32c_portable(const void* data, std::size_t size, std::uint32_t crc = 0);

/// The form in which TFRecord and event files hold a checksum (TensorFlow,
/// core/lib/hash/crc32c.h): a checksum of bytes that hold checksums would be weak.
constexpr std::uint32_t mask_crc32c(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
constexpr std::uint32_t unmask_crc32c(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace troupe
