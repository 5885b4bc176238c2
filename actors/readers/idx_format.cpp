#include "troupe/actors/readers/idx_format.h"

#include <array>
#include <vector>

#include "troupe/actors/readers/input_file.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

DType dtype_of_code(char code, const std::string& path) {
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

std::int64_t big_endian(const char* bytes) {
  std::int64_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

OpenArray open_idx(const std::string& path) {
  expect_readable_again(path);
  OpenArray array{{}, std::make_unique<InputFile>(path)};
  auto& [header, stream] = array;
  std::array<char, 4> magic{};
  read_header_bytes(*stream, magic.data(), magic.size());
  if (magic[0] != 0 || magic[1] != 0)
    fail(Code::data_loss, path, ": not an IDX file: it does not start with two bytes of 0");
  header.dtype = dtype_of_code(magic[2], path);
  header.big_endian = true;
  const int rank = static_cast<unsigned char>(magic[3]);
  if (rank < 1 || rank > Shape::kMaxRank)
    fail(Code::data_loss, path, ": an IDX file of rank ", rank, "; 1 to ", Shape::kMaxRank,
         " are possible");
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < rank; ++axis) {
    std::array<char, 4> word{};
    read_header_bytes(*stream, word.data(), word.size());
    extents.push_back(big_endian(word.data()));
  }
  header.header_bytes = stream->offset();
  set_extents(header, extents, *stream);
  return array;
}

ArrayFormat idx_format() { return {"items", open_idx}; }

}  // namespace troupe
