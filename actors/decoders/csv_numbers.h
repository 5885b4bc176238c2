#pragma once

#include <cstdint>
#include <string_view>

namespace troupe {

/// Whose idea of a number. Both take blanks in front and behind, digits with a
/// minus, and for floats a dot, an exponent, a plus, inf and nan in any case, and
/// hexadecimal digits behind 0x. Too large floats become infinite, too small ones
/// zero; all have the bits of strtof or strtod. Integers that do not fit are none.
/// A field of blanks is no number (TensorFlow 1 made it 0 without a word, if it was
/// a float).
enum class CsvNumbers : std::uint8_t {
  tensorflow_1,  ///< integers take no plus, floats have less than 32 characters
  tensorflow_2,  ///< both do; also infinity, nan(...), and 0x1.8p3
};

/// Whether all of the text is a number, which `value` is then. T is float, double,
/// std::int32_t or std::int64_t.
template <class T>
bool parse_csv_number(std::string_view text, CsvNumbers rules, T& value);

/// The text without blanks (space, \t, \n, \v, \f, \r) at both ends.
std::string_view without_blanks(std::string_view text);

}  // namespace troupe
