#include "troupe/actors/readers/idx_format.h"

#include <array>
#include <vector>

#include "troupe/actors/readers/input_file.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

DType dtype_of_code(unsigned char code, const std::string& path) {
  switch (code) {
    case 0x08:
      return DType::uint8;
    case 0x09:
      return DType::int8;
    case 0x0B:
      return DType::int16;
    case 0x0C:
      return DType::int32;
    case 0x0D:
      return DType::float32;
    case 0x0E:
      return DType::float64;
    default:
      fail(Code::data_loss, path, ": byte 2 of an IDX file is the dtype, but ", int{code},
           " stands for none");
  }
}

std::int64_t big_endian(const unsigned char* bytes) {
  return std::int64_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

void read_exactly(InputFile& file, unsigned char* to, std::size_t count) {
  const auto got = file.read(reinterpret_cast<char*>(to), count);
  if (got < count)
    fail(Code::data_loss, file.path(), ": the file ends at byte ", file.offset(),
         ", inside its IDX header");
}

void check_size(const IdxHeader& header, const InputFile& file) {
  const auto size = file.size();
  if (!size) return;
  std::uint64_t promised = 0;
  const bool overflow =
      __builtin_mul_overflow(header.item_bytes(), static_cast<std::uint64_t>(header.count),
                             &promised) ||
      __builtin_add_overflow(promised, header.header_bytes, &promised);
  if (overflow || promised != *size)
    fail(Code::data_loss, file.path(), ": the IDX header promises ", header.count, " items of ",
         header.dtype, ' ', header.item, ", but the file has ", *size, " bytes instead of ",
         overflow ? "more than 2^64" : std::to_string(promised));
}

}  // namespace

std::uint64_t IdxHeader::item_bytes() const {
  return static_cast<std::uint64_t>(item.volume()) * size_of(dtype);
}

IdxHeader read_idx_header(InputFile& file) {
  std::array<unsigned char, 4> magic{};
  read_exactly(file, magic.data(), magic.size());
  if (magic[0] != 0 || magic[1] != 0)
    fail(Code::data_loss, file.path(), ": not an IDX file: it starts with bytes ", int{magic[0]},
         " and ", int{magic[1]}, " instead of 0 and 0");
  IdxHeader header;
  header.dtype = dtype_of_code(magic[2], file.path());
  const int rank = magic[3];
  if (rank < 1 || rank > Shape::kMaxRank)
    fail(Code::data_loss, file.path(), ": an IDX file of rank ", rank, "; 1 to ", Shape::kMaxRank,
         " are possible");
  std::vector<std::int64_t> extents;
  std::uint64_t bytes = size_of(header.dtype);
  for (int axis = 0; axis < rank; ++axis) {
    std::array<unsigned char, 4> word{};
    read_exactly(file, word.data(), word.size());
    const auto extent = big_endian(word.data());
    if (axis == 0) {
      header.count = extent;
      continue;
    }
    extents.push_back(extent);
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) ||
        bytes > kMaxRecordBytes)
      fail(Code::data_loss, file.path(), ": the IDX header promises items of more than ",
           kMaxRecordBytes, " bytes");
  }
  header.item = Shape(extents);
  if (bytes == 0)
    fail(Code::data_loss, file.path(), ": the IDX header promises ", header.count,
         " items of shape ", header.item, ", which hold nothing");
  header.header_bytes = 4 + 4 * static_cast<std::uint64_t>(rank);
  check_size(header, file);
  return header;
}

IdxHeader read_idx_header(const std::string& path) {
  expect_readable_again(path);
  InputFile file(path);
  return read_idx_header(file);
}

}  // namespace troupe
