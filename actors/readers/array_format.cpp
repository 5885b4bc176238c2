#include "troupe/actors/readers/array_format.h"

#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

void check_size(const ArrayHeader& header, const ByteStream& stream) {
  const auto size = stream.size();
  std::uint64_t promised = 0;
  const bool overflow =
      __builtin_mul_overflow(header.item_bytes(), static_cast<std::uint64_t>(header.count),
                             &promised) ||
      __builtin_add_overflow(promised, header.header_bytes, &promised);
  if (overflow || (size && promised != *size))
    fail(Code::data_loss, stream.path(), ": the header promises ", header.count, " items of ",
         header.dtype, ' ', header.item, ", which take ",
         overflow ? "more than 2^64" : std::to_string(promised), " bytes",
         size ? text(", but there are ", *size) : std::string());
}

}  // namespace

std::uint64_t ArrayHeader::item_bytes() const {
  return static_cast<std::uint64_t>(item.volume()) * size_of(dtype);
}

void read_header_bytes(ByteStream& stream, char* to, std::size_t count) {
  if (stream.read_all(to, count) < count)
    fail(Code::data_loss, stream.path(), ": it ends at byte ", stream.offset(),
         ", inside its header");
}

void set_extents(ArrayHeader& header, std::span<const std::int64_t> extents,
                 const ByteStream& stream) {
  if (extents.empty())
    fail(Code::invalid_argument, stream.path(),
         ": the array is one value; records are items along a first axis: array.reshape(1)");
  if (extents.size() > Shape::kMaxRank + 1)
    fail(Code::invalid_argument, stream.path(), ": an item of the array has more than ",
         Shape::kMaxRank, " axes");
  header.count = extents[0];
  const auto item = extents.subspan(1);
  std::uint64_t bytes = size_of(header.dtype);
  for (const auto extent : item)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) ||
        bytes > kMaxRecordBytes)
      fail(Code::data_loss, stream.path(), ": the array has items of more than ", kMaxRecordBytes,
           " bytes");
  header.item = Shape(item);
  if (bytes == 0)
    fail(Code::invalid_argument, stream.path(), ": the items of the array, of shape ", header.item,
         ", hold no value");
  check_size(header, stream);
}

}  // namespace troupe
