#include "troupe/actors/readers/inflater.h"

#include <limits>
#include <string_view>
#include <utility>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::size_t kInputBytes = 256 << 10;
// What zlib's parameters ask for: the largest window, and 16 more for gzip's header.
constexpr int kZlibWindow = 15;
constexpr int kGzipWindow = 15 + 16;

}  // namespace

Inflater::Inflater(Format format, Pull pull)
    : format_(format), pull_(std::move(pull)), input_(kInputBytes) {
  if (inflateInit2(&stream_, format_ == Format::gzip ? kGzipWindow : kZlibWindow) != Z_OK)
    fail(Code::resource_exhausted, "out of memory for decompressing");
}

Inflater::~Inflater() { inflateEnd(&stream_); }

bool Inflater::more_input() {
  if (stream_.avail_in == 0 && !input_ended_) {
    const auto got = pull_(input_.data(), input_.size());
    input_ended_ = got == 0;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
  }
  return stream_.avail_in > 0;
}

void Inflater::damaged() const {
  const auto* name = format_ == Format::gzip ? "gzip" : "zlib";
  const std::string_view why = stream_.msg == nullptr ? "" : stream_.msg;  // zlib's words
  const bool no_header = why == "incorrect header check" || why == "unknown compression method" ||
                         why == "invalid window size";
  if (starved_) fail(Code::data_loss, "the ", name, " data is cut short");
  if (why == "incorrect data check")
    fail(Code::data_loss, "the ", name, " data does not have the checksum that follows it");
  if (why == "incorrect length check")
    fail(Code::data_loss, "the ", name, " data does not have the length that follows it");
  if (!between_ || !no_header) fail(Code::data_loss, "the ", name, " data is damaged");
  if (any_) fail(Code::data_loss, "something else than ", name, " data follows");
  fail(Code::data_loss, "not ", name, " data");
}

std::size_t Inflater::read(char* to, std::size_t count) {
  constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
  const auto room = static_cast<uInt>(count < kMost ? count : kMost);
  stream_.next_out = reinterpret_cast<Bytef*>(to);
  stream_.avail_out = room;
  while (!failed_ && stream_.avail_out == room) {
    const bool input = more_input();
    if (between_) {
      if (!input) return 0;
      if (any_ && *stream_.next_in == 0) {  // padding
        ++stream_.next_in;
        --stream_.avail_in;
        continue;
      }
      inflateReset(&stream_);
    }
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) fail(Code::resource_exhausted, "out of memory for decompressing");
    starved_ = code == Z_BUF_ERROR && !input;
    if (starved_ || (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)) {
      failed_ = true;
      break;
    }
    any_ = true;
    between_ = code == Z_STREAM_END;
  }
  // What came before the damage is not lost: only the next call fails.
  if (failed_ && stream_.avail_out == room) damaged();
  return room - stream_.avail_out;
}

}  // namespace troupe
