#include "troupe/actors/decoders/example_builder.h"

#include <bit>
#include <utility>

#include "troupe/actors/decoders/example_feature.h"

namespace troupe {
namespace {

static_assert(std::endian::native == std::endian::little);

void append_varint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

/// Field `number` with bytes in it.
void append_field(std::string& to, int number, std::string_view bytes) {
  constexpr int kBytesType = 2;
  to += static_cast<char>(number << 3 | kBytesType);
  append_varint(to, bytes.size());
  to += bytes;
}

}  // namespace

void ExampleBuilder::add(std::string_view name, int kind, std::string_view list) {
  std::string feature, entry;
  append_field(feature, kind, list);
  append_field(entry, 1, name);
  append_field(entry, 2, feature);
  append_field(entries_, 1, entry);
}

ExampleBuilder& ExampleBuilder::floats(std::string_view name, std::span<const float> values) {
  std::string list;
  append_field(list, 1, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  add(name, static_cast<int>(WireFeature::Kind::floats), list);
  return *this;
}

ExampleBuilder& ExampleBuilder::ints(std::string_view name, std::span<const std::int64_t> values) {
  std::string packed, list;
  for (const auto value : values) append_varint(packed, static_cast<std::uint64_t>(value));
  append_field(list, 1, packed);
  add(name, static_cast<int>(WireFeature::Kind::ints), list);
  return *this;
}

ExampleBuilder& ExampleBuilder::bytes(std::string_view name, std::span<const std::string> values) {
  std::string list;
  for (const auto& value : values) append_field(list, 1, value);
  add(name, static_cast<int>(WireFeature::Kind::bytes), list);
  return *this;
}

std::string ExampleBuilder::message() {
  std::string example;
  append_field(example, 1, std::exchange(entries_, {}));
  return example;
}

}  // namespace troupe
