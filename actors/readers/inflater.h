#pragma once

#include <zlib.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace troupe {

/// Decompresses a stream of gzip or zlib data. Several members one after the other,
/// as `cat a.gz b.gz` makes them, are one stream; zeros may follow the last one.
class Inflater {
 public:
  enum class Format { gzip, zlib };
  /// Fetches up to so many compressed bytes; 0 at their end.
  using Pull = std::function<std::size_t(char* to, std::size_t count)>;

  Inflater(Format format, Pull pull);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills `to` with up to `count` bytes, at least one; 0 at the end of the data.
  /// Throws data_loss, in words without the name of the file, for damaged data and
  /// for data that end inside a member.
  std::size_t read(char* to, std::size_t count);

 private:
  /// Whether there is another byte of compressed data.
  bool more_input();
  [[noreturn]] void damaged() const;

  Format format_;
  Pull pull_;
  std::vector<char> input_;
  z_stream stream_{};
  bool input_ended_ = false;
  bool between_ = true;   // members
  bool any_ = false;      // whether a member has begun
  bool starved_ = false;  // there is no more input, but a member goes on
  bool failed_ = false;
};

}  // namespace troupe
