#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "troupe/actors/readers/byte_stream.h"
#include "troupe/ops/dtype.h"
#include "troupe/ops/shape.h"

namespace troupe {

/// What stands at the start of a file that holds an array: items of one dtype and shape,
/// one after the other.
struct ArrayHeader {
  DType dtype = DType::float32;
  bool big_endian = false;  ///< order of the bytes of a value in the file
  std::int64_t count = 0;   ///< items: the first extent
  Shape item{};             ///< the other extents
  std::uint64_t header_bytes = 0;

  std::uint64_t item_bytes() const;
  bool same_items(const ArrayHeader& other) const {
    return dtype == other.dtype && item == other.item;
  }
};

/// An array whose header has been read: its items follow.
struct OpenArray {
  ArrayHeader header;
  std::unique_ptr<ByteStream> stream;
};

/// A format of files that hold an array.
struct ArrayFormat {
  std::string noun;  ///< what the items are, for messages: "rows"
  std::function<OpenArray(const std::string& path)> open;
};

// For those who parse a header.

/// The next bytes. Throws data_loss where the stream ends before.
void read_header_bytes(ByteStream& stream, char* to, std::size_t count);

/// Completes a header that has a dtype, and of which all bytes have been read.
///
/// Throws data_loss, naming the stream, for items of more than kMaxRecordBytes and when the
/// size of the stream, where it is known, is not what the extents promise; invalid_argument
/// for no extent, more than Shape::kMaxRank of an item, and items without a value.
void set_extents(ArrayHeader& header, std::span<const std::int64_t> extents,
                 const ByteStream& stream);

}  // namespace troupe
