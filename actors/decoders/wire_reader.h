#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace troupe {

/// One field of a Protobuf message.
struct WireField {
  enum Type : std::uint8_t { varint = 0, fixed64 = 1, bytes_type = 2, fixed32 = 5 };

  std::uint64_t number = 0;
  Type type = varint;
  std::uint64_t value = 0;  ///< of a varint or a fixed one
  std::string_view bytes;   ///< of a string, message or packed list
};

/// Reads a varint and moves `at` behind it; false when it does not end before `end` or
/// has more than ten bytes.
inline bool read_varint(const char*& at, const char* end, std::uint64_t& value) {
  constexpr int kMostBits = 70;
  value = 0;
  for (int shift = 0; at != end && shift < kMostBits; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    value |= std::uint64_t{byte & 0x7fu} << (shift & 63);
    if (byte < 0x80) return true;
  }
  return false;
}

/// Reads the fields of a message in Protobuf's wire format, whatever its bytes are.
class WireReader {
 public:
  explicit WireReader(std::string_view message)
      : at_(message.data()), end_(message.data() + message.size()) {}

  /// The next field; false at the end of the message, and when it is damaged.
  bool next(WireField& field) {
    if (at_ == end_) return false;
    std::uint64_t tag = 0;
    good_ = read_varint(at_, end_, tag) && read_value(field, tag);
    return good_;
  }
  bool good() const { return good_; }

 private:
  bool read_value(WireField& field, std::uint64_t tag) {
    constexpr std::uint64_t kTypeMask = 7;
    field.number = tag >> 3;
    field.type = static_cast<WireField::Type>(tag & kTypeMask);
    switch (field.type) {
      case WireField::varint:
        return read_varint(at_, end_, field.value);
      case WireField::fixed64:
        return read_fixed(field.value, sizeof(std::uint64_t));
      case WireField::fixed32:
        return read_fixed(field.value, sizeof(std::uint32_t));
      case WireField::bytes_type: {
        std::uint64_t size = 0;
        if (!read_varint(at_, end_, size) || size > static_cast<std::uint64_t>(end_ - at_))
          return false;
        field.bytes = {at_, static_cast<std::size_t>(size)};
        at_ += size;
        return true;
      }
    }
    return false;  // groups, which nobody writes any more
  }
  bool read_fixed(std::uint64_t& value, std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size) return false;
    value = 0;
    std::memcpy(&value, at_, size);
    at_ += size;
    return true;
  }

  const char* at_;
  const char* end_;
  bool good_ = true;
};

}  // namespace troupe
