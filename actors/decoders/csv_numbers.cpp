#include "troupe/actors/decoders/csv_numbers.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <limits>
#include <system_error>

namespace troupe {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";
constexpr std::size_t kTensorFlow1Buffer = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_in_any_case(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, {}, lower);
}

/// nan(...), as strtod has it.
bool is_marked_nan(std::string_view text) {
  return text.size() >= 5 && equal_in_any_case(text.substr(0, 4), "nan(") && text.back() == ')' &&
         std::ranges::all_of(text.substr(4, text.size() - 5), [](char c) {
           return is_digit(c) || c == '_' || (lower(c) >= 'a' && lower(c) <= 'z');
         });
}

/// Digits behind 0x.
template <class T>
bool parse_hex(std::string_view text, CsvNumbers rules, T& value) {
  const bool fraction = rules != CsvNumbers::tensorflow_1;
  if (text.empty() || text[0] == '-') return false;
  if (!fraction && text.find_first_of(".pP") != text.npos) return false;
  const auto* end = text.data() + text.size();
  double wide = 0;
  auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::hex);
  if (stop != end || error == std::errc::invalid_argument) return false;
  if (error == std::errc{}) return true;
  // Too large or too small, for a float at least.
  if (std::from_chars(text.data(), end, wide, std::chars_format::hex).ec != std::errc{})
    wide = text.find('-') == text.npos ? std::numeric_limits<double>::infinity() : 0;
  value = static_cast<T>(wide);
  return true;
}

template <std::floating_point T>
bool parse(std::string_view text, CsvNumbers rules, T& value) {
  if (rules == CsvNumbers::tensorflow_1 && text.size() >= kTensorFlow1Buffer) return false;
  text = without_blanks(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return false;

  const bool generous = rules == CsvNumbers::tensorflow_2;
  if (is_digit(text[0]) || text[0] == '.') {
    const auto* end = text.data() + text.size();
    if (text.size() > 2 && text[0] == '0' && lower(text[1]) == 'x') {
      if (!parse_hex(text.substr(2), rules, value)) return false;
    } else {
      const auto [stop, error] = fast_float::from_chars(text.data(), end, value);
      const bool number = error == std::errc{} || error == std::errc::result_out_of_range;
      if (stop != end || !number) return false;
    }
  } else if (equal_in_any_case(text, "inf") || (generous && equal_in_any_case(text, "infinity"))) {
    value = std::numeric_limits<T>::infinity();
  } else if (equal_in_any_case(text, "nan") || (generous && is_marked_nan(text))) {
    value = std::numeric_limits<T>::quiet_NaN();
  } else {
    return false;
  }
  if (negative) value = -value;
  return true;
}

template <std::integral T>
bool parse(std::string_view text, CsvNumbers rules, T& value) {
  text = without_blanks(text);
  if (rules == CsvNumbers::tensorflow_2 && text.size() > 1 && text[0] == '+' && text[1] != '-')
    text.remove_prefix(1);
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

}  // namespace

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

template <class T>
bool parse_csv_number(std::string_view text, CsvNumbers rules, T& value) {
  return parse(text, rules, value);
}
template bool parse_csv_number(std::string_view, CsvNumbers, float&);
template bool parse_csv_number(std::string_view, CsvNumbers, double&);
template bool parse_csv_number(std::string_view, CsvNumbers, std::int32_t&);
template bool parse_csv_number(std::string_view, CsvNumbers, std::int64_t&);

}  // namespace troupe
