#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// Bytes one after the other: a file, or what a container file has inside.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Fills `to` with up to `count` bytes: fewer only at the end, or in front of a
  /// failure, which the next call throws. Throws data_loss, naming the place, when the
  /// bytes are damaged or cut short.
  virtual std::size_t read(char* to, std::size_t count) = 0;
  /// Throws data_loss when there are fewer bytes than that.
  virtual void seek(std::uint64_t offset) = 0;
  virtual std::uint64_t offset() const = 0;
  /// All bytes there are, where that is known.
  virtual std::optional<std::uint64_t> size() const = 0;
  /// The name of it, for messages.
  virtual const std::string& path() const = 0;

  /// The same as read, but what stands behind fewer bytes is thrown at once.
  std::size_t read_all(char* to, std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
      const auto got = read(to + done, count - done);
      if (got == 0) break;
      done += got;
    }
    return done;
  }
};

}  // namespace troupe
