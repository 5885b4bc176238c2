#pragma once

#include <cstdint>

#include "troupe/ops/simd/isa.h"

// What number_decoder.h offers and number_decoder.isa.cpp does; plain types only.

namespace troupe::simd {

/// Readable bytes that the caller promises in front of a line and behind it.
inline constexpr std::int64_t kDecodePadding = 64;

struct DecodeOptions {
  /// Several delimiters in a row count as one, and those at the start and the end
  /// of a line do not count: what columns aligned with blanks need.
  bool merge_delimiters = false;
  /// One delimiter may follow the last field.
  bool trailing_delimiter = false;
};

enum class DecodeFault : std::uint8_t {
  none,
  empty,           ///< nothing, or only blanks, between two delimiters
  not_a_number,    ///< not the whole field is a number
  not_an_integer,  ///< decode_ints: also for 1.0
  out_of_range,    ///< decode_ints: does not fit 64 bits
  too_few,         ///< the line ends before the last expected field
  too_many,        ///< the line has more fields than expected
};

/// What became of a line, and where it went wrong.
struct DecodeResult {
  bool ok() const { return fault == DecodeFault::none; }

  DecodeFault fault = DecodeFault::none;
  std::int64_t fields = 0;  ///< how many the line has
  std::int64_t field = 0;   ///< the one at fault, from 0
  std::int64_t column = 0;  ///< its first byte, from 1; behind the last byte for too_few
  std::int64_t length = 0;  ///< its bytes
};

TROUPE_EACH_ISA(DecodeResult decode_floats(const char* begin, const char* end, char delimiter,
                                           float* out, std::int64_t expected,
                                           DecodeOptions options);)

// For the kernels, in number_decoder.cpp: plain functions, so that no instance of
// a template is shared between the levels.

/// Any number that strtof reads in decimal, blanks around it allowed.
DecodeFault parse_float(const char* begin, const char* end, char delimiter, float* out);

/// The result for a line whose field number `field` starts at `at` and is at fault.
DecodeResult decode_fault(DecodeFault fault, const char* begin, const char* end, char delimiter,
                          DecodeOptions options, std::int64_t field, const char* at);

}  // namespace troupe::simd
