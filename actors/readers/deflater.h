#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

namespace troupe {

/// Compresses a stream of bytes to gzip or zlib data: the inverse of Inflater.
class Deflater {
 public:
  explicit Deflater(bool gzip);
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// The compressed bytes that are ready after these; all of them after the last ones.
  std::string compress(std::string_view bytes, bool last);

 private:
  z_stream stream_{};
};

}  // namespace troupe
