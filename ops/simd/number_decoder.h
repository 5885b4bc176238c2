#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "troupe/ops/simd/number_kernels.h"

namespace troupe::simd {

/// Decodes one line of numbers into `out[0] ... out[expected - 1]`.
///
///   begin, end  the line without "\n" and "\r"; kDecodePadding bytes in front of
///               `begin` and behind `end` are read too, whatever they hold
///   delimiter   any byte that no number contains, often ',' or ' ' or '\t'
///   expected    the number of fields
///
/// A field is a decimal number as strtof reads it: an optional sign ('+' too),
/// digits with an optional dot, an optional exponent; or inf, infinity or nan in
/// any case. Values too large become infinite and values too small zero, as they
/// do there, and every value has the very bits that strtof gives in the C locale.
/// Blanks and tabs around a number are skipped where they are not the delimiter.
/// Hexadecimal numbers are refused.
///
/// The first field at fault, from left to right, is reported; a line without any
/// byte has no field. `out` is undefined from the field at fault on, and nothing
/// is ever written behind `out[expected - 1]`.
///
/// Any thread may call this: it keeps nothing.
DecodeResult decode_floats(const char* begin, const char* end, char delimiter, float* out,
                           std::int64_t expected, DecodeOptions options = {});

/// The same for decimal integers with an optional sign; needs no padding.
DecodeResult decode_ints(const char* begin, const char* end, char delimiter, std::int64_t* out,
                         std::int64_t expected, DecodeOptions options = {});

/// The number of fields in a line; needs no padding.
std::int64_t count_fields(const char* begin, const char* end, char delimiter,
                          DecodeOptions options = {});

/// What is wrong, for people, without the column:
///
///   field 4: "1.2.3" is not a number
///   got 14 fields, expected 15
///
/// `line` is the line that was decoded.
std::string explain(const DecodeResult& result, std::string_view line, std::int64_t expected);

}  // namespace troupe::simd
