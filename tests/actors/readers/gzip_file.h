#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

#include "support/temporary_directory.h"

namespace troupe::test {

/// Writes a gzip file.
inline void write_gzip(const std::string& path, std::string_view bytes) {
  const gzFile file = gzopen(path.c_str(), "wb");
  if (file == nullptr) fail(Code::unavailable, path, " cannot be written");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

}  // namespace troupe::test
