#include "troupe/actors/readers/deflater.h"

#include <algorithm>
#include <limits>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

// What zlib's parameters ask for: the largest window, 16 more for gzip's header, and the
// memory level that its manual calls the default.
constexpr int kZlibWindow = 15;
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemoryLevel = 8;

}  // namespace

Deflater::Deflater(bool gzip) {
  if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip ? kGzipWindow : kZlibWindow,
                   kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
    fail(Code::resource_exhausted, "out of memory for compressing");
}

Deflater::~Deflater() { deflateEnd(&stream_); }

std::string Deflater::compress(std::string_view bytes, bool last) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  char piece[64 << 10];
  std::string out;
  do {
    const auto count = std::min(bytes.size(), kMost);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(count);
    bytes.remove_prefix(count);
    const bool end = last && bytes.empty();
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(piece);
      stream_.avail_out = sizeof piece;
      deflate(&stream_, end ? Z_FINISH : Z_NO_FLUSH);
      out.append(piece, sizeof piece - stream_.avail_out);
    } while (stream_.avail_out == 0);
  } while (!bytes.empty());
  return out;
}

}  // namespace troupe
