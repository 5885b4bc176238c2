#include "troupe/actors/decoders/example_feature.h"

#include <bit>
#include <cstring>

#include "troupe/actors/decoders/wire_reader.h"

namespace troupe {
namespace {

constexpr std::uint64_t kValues = 1;  // the only field of each kind of list

static_assert(std::endian::native == std::endian::little);

/// Each varint ends with the only byte of it that has no high bit.
std::int64_t count_varints(std::string_view bytes) {
  std::int64_t count = 0;
  for (const char c : bytes) count += static_cast<unsigned char>(c) < 0x80;
  return count;
}

/// How many values a field of a list has; -1 when it is damaged.
std::int64_t count_field(WireFeature::Kind kind, const WireField& field) {
  const bool packed = field.type == WireField::bytes_type;
  switch (kind) {
    case WireFeature::Kind::bytes:
      return packed ? 1 : -1;
    case WireFeature::Kind::floats:
      if (field.type == WireField::fixed32) return 1;
      return packed && field.bytes.size() % sizeof(float) == 0
                 ? static_cast<std::int64_t>(field.bytes.size() / sizeof(float))
                 : -1;
    case WireFeature::Kind::ints:
      if (field.type == WireField::varint) return 1;
      return packed ? count_varints(field.bytes) : -1;
    case WireFeature::Kind::none:
      break;
  }
  return -1;
}

}  // namespace

std::string_view to_string(WireFeature::Kind kind) {
  switch (kind) {
    case WireFeature::Kind::bytes:
      return "a list of bytes";
    case WireFeature::Kind::floats:
      return "a list of floats";
    case WireFeature::Kind::ints:
      return "a list of integers";
    case WireFeature::Kind::none:
      break;
  }
  return "without values";
}

bool parse_feature(std::string_view message, WireFeature& feature, std::string& joined) {
  feature = {};
  WireReader reader(message);
  WireField field;
  while (reader.next(field)) {
    if (field.number < 1 || field.number > 3) continue;
    if (field.type != WireField::bytes_type) return false;
    const auto kind = static_cast<WireFeature::Kind>(field.number);
    if (kind != feature.kind) {  // only the last kind that was set counts
      feature = {kind, field.bytes};
    } else {  // two messages one after the other are one
      joined = std::string(feature.list).append(field.bytes);
      feature.list = joined;
    }
  }
  return reader.good();
}

std::int64_t count_values(const WireFeature& feature) {
  WireReader reader(feature.list);
  WireField field;
  std::int64_t count = 0;
  while (reader.next(field)) {
    if (field.number != kValues) continue;
    const auto more = count_field(feature.kind, field);
    if (more < 0) return -1;
    count += more;
  }
  return reader.good() ? count : -1;
}

bool read_floats(std::string_view list, std::span<float> values) {
  WireReader reader(list);
  WireField field;
  while (reader.next(field)) {
    if (field.number != kValues) continue;
    if (field.type == WireField::fixed32) {
      if (values.empty()) return false;
      values[0] = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
      values = values.subspan(1);
    } else {
      if (field.type != WireField::bytes_type || field.bytes.size() > values.size_bytes())
        return false;
      if (!field.bytes.empty()) std::memcpy(values.data(), field.bytes.data(), field.bytes.size());
      values = values.subspan(field.bytes.size() / sizeof(float));
    }
  }
  return reader.good() && values.empty();
}

bool read_ints(std::string_view list, std::span<std::int64_t> values) {
  WireReader reader(list);
  WireField field;
  auto* to = values.data();
  const auto* const end = to + values.size();
  while (reader.next(field)) {
    if (field.number != kValues) continue;
    if (field.type == WireField::varint) {
      if (to == end) return false;
      *to++ = static_cast<std::int64_t>(field.value);
      continue;
    }
    if (field.type != WireField::bytes_type) return false;
    const auto* at = field.bytes.data();
    const auto* const stop = at + field.bytes.size();
    while (at != stop) {
      std::uint64_t value = 0;
      if (to == end || !read_varint(at, stop, value)) return false;
      *to++ = static_cast<std::int64_t>(value);
    }
  }
  return reader.good() && to == end;
}

bool read_strings(std::string_view list, std::span<std::string> values) {
  WireReader reader(list);
  WireField field;
  std::size_t next = 0;
  while (reader.next(field)) {
    if (field.number != kValues) continue;
    if (field.type != WireField::bytes_type || next == values.size()) return false;
    values[next++].assign(field.bytes);
  }
  return reader.good() && next == values.size();
}

}  // namespace troupe
