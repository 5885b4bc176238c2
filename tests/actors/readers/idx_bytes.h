#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::test {

/// An IDX file: dtype code, extents, and the values as they are.
inline std::string idx_bytes(int code, const std::vector<std::uint32_t>& extents,
                             const std::string& values) {
  std::string bytes{0, 0, static_cast<char>(code), static_cast<char>(extents.size())};
  for (const auto extent : extents)
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(extent >> shift);
  return bytes + values;
}

}  // namespace troupe::test
