#pragma once

#include <cstddef>

#include "troupe/ops/tensor.h"

namespace troupe {

/// Readable bytes in front of the first record of a buffer and behind the last.
inline constexpr std::size_t kRecordPadding = 64;
/// No record is larger, so that its place in a buffer fits 32 bits.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 30;

/// A buffer for `capacity` bytes of records, with padding on both sides.
inline Tensor record_buffer(std::size_t capacity) {
  return Tensor::uninitialized(
      DType::uint8, {static_cast<std::int64_t>(kRecordPadding + capacity + kRecordPadding)});
}

/// Where the records start.
inline char* record_data(Tensor& buffer) {
  return reinterpret_cast<char*>(buffer.mutable_data()) + kRecordPadding;
}

}  // namespace troupe
