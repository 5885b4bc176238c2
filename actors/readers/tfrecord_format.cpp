#include "troupe/actors/readers/tfrecord_format.h"

#include <bit>
#include <cstring>

#include "troupe/messages/crc32c.h"

namespace troupe {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

void append_tfrecord(std::string& to, std::string_view record) {
  const std::uint64_t length = record.size();
  append(to, length);
  append(to, mask_crc32c(crc32c(&length, sizeof length)));
  to.append(record);
  append(to, mask_crc32c(crc32c(record)));
}

TFRecordHeader read_tfrecord_header(const char* header) {
  const auto sum = unmask_crc32c(load<std::uint32_t>(header + sizeof(std::uint64_t)));
  return {load<std::uint64_t>(header), crc32c(header, sizeof(std::uint64_t)) == sum};
}

bool check_tfrecord(std::string_view record) {
  return crc32c(record) == unmask_crc32c(load<std::uint32_t>(record.data() + record.size()));
}

}  // namespace troupe
