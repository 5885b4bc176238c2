#include "troupe/messages/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace troupe {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78u;  // bits reversed

using Table = std::array<std::uint32_t, 256>;

/// tables[k][b] is what byte b does to the checksum when k more bytes follow it.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}
constexpr auto kTables = make_tables();

std::uint64_t load64(const unsigned char* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(const void* data, std::size_t size,
                                                             std::uint32_t crc) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint64_t state = ~crc;
  for (; size >= 8; size -= 8, p += 8) state = _mm_crc32_u64(state, load64(p));
  auto rest = static_cast<std::uint32_t>(state);
  for (; size > 0; --size, ++p) rest = _mm_crc32_u8(rest, *p);
  return ~rest;
}
#endif

using Function = std::uint32_t (*)(const void*, std::size_t, std::uint32_t);

Function fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_sse42;
#endif
  return crc32c_portable;
}

}  // namespace

std::uint32_t crc32c_portable(const void* data, std::size_t size, std::uint32_t crc) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint32_t state = ~crc;
  for (; size >= 8; size -= 8, p += 8) {
    const std::uint64_t word = load64(p) ^ state;
    state = 0;
    for (std::size_t byte = 0; byte < 8; ++byte)
      state ^= kTables[7 - byte][(word >> (8 * byte)) & 0xff];
  }
  for (; size > 0; --size, ++p) state = (state >> 8) ^ kTables[0][(state ^ *p) & 0xff];
  return ~state;
}

std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t crc) {
  static const Function function = fastest();
  return function(data, size, crc);
}

}  // namespace troupe
