#include "troupe/ops/simd/number_decoder.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "troupe/ops/error.h"

namespace troupe::simd {
namespace {

struct Field {
  const char* begin;
  const char* end;

  std::int64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
};

// Walks over the fields of a line one byte at a time: for integers and for lines at fault.
class Fields {
 public:
  Fields(const char* begin, const char* end, char delimiter, DecodeOptions options)
      : at_(begin), end_(end), delimiter_(delimiter), merge_(options.merge_delimiters) {
    if (merge_) {
      skip_delimiters();
    } else if (options.trailing_delimiter && begin != end && end[-1] == delimiter) {
      end_ = end - 1;
    }
    more_ = at_ != (merge_ ? end_ : end);
  }

  // Whether there is a field, which `field` is then.
  bool next(Field& field) {
    if (!more_) return false;
    const char* stop = std::find(at_, end_, delimiter_);
    field = {at_, stop};
    at_ = stop == end_ ? end_ : stop + 1;
    if (merge_) skip_delimiters();
    more_ = merge_ ? at_ != end_ : stop != end_;
    return true;
  }

 private:
  void skip_delimiters() {
    while (at_ != end_ && *at_ == delimiter_) ++at_;
  }

  const char* at_;
  const char* end_;
  char delimiter_;
  bool merge_;
  bool more_;
};

Field without_blanks(Field field, char delimiter) {
  const auto blank = [delimiter](char c) { return (c == ' ' || c == '\t') && c != delimiter; };
  while (!field.empty() && blank(*field.begin)) ++field.begin;
  while (!field.empty() && blank(field.end[-1])) --field.end;
  return field;
}

// fast_float and from_chars take no '+'.
Field without_plus(Field field) {
  if (field.size() > 1 && *field.begin == '+' && field.begin[1] != '-') ++field.begin;
  return field;
}

DecodeFault parse_int(Field field, std::int64_t* out) {
  if (field.empty()) return DecodeFault::empty;
  field = without_plus(field);
  const auto [stop, error] = std::from_chars(field.begin, field.end, *out);
  if (stop != field.end || error == std::errc::invalid_argument) return DecodeFault::not_an_integer;
  return error == std::errc{} ? DecodeFault::none : DecodeFault::out_of_range;
}

// A field as a message shows it: not longer than a message should be, and printable.
std::string quoted(std::string_view field) {
  constexpr std::size_t kLongest = 40;
  std::string out = "\"";
  for (const char c : field.substr(0, kLongest)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (field.size() > kLongest ? "...\"" : "\"");
}

}  // namespace

DecodeFault parse_float(const char* begin, const char* end, char delimiter, float* out) {
  const Field trimmed = without_blanks({begin, end}, delimiter);
  if (trimmed.empty()) return DecodeFault::empty;
  const Field field = without_plus(trimmed);
  const auto [stop, error] = fast_float::from_chars(field.begin, field.end, *out);
  // strtof puts what stands in nan(...) into the number, fast_float does not.
  const bool number = error == std::errc{} && stop == field.end && stop[-1] != ')';
  return number ? DecodeFault::none : DecodeFault::not_a_number;
}

DecodeResult decode_fault(DecodeFault fault, const char* begin, const char* end, char delimiter,
                          DecodeOptions options, std::int64_t field, const char* at) {
  while (options.merge_delimiters && at != end && *at == delimiter) ++at;
  return {.fault = fault,
          .fields = count_fields(begin, end, delimiter, options),
          .field = field,
          .column = at - begin + 1,
          .length = std::find(at, end, delimiter) - at};
}

DecodeResult decode_floats(const char* begin, const char* end, char delimiter, float* out,
                           std::int64_t expected, DecodeOptions options) {
  static const auto decode = TROUPE_PICK(decode_floats);
  return decode(begin, end, delimiter, out, expected, options);
}

DecodeResult decode_ints(const char* begin, const char* end, char delimiter, std::int64_t* out,
                         std::int64_t expected, DecodeOptions options) {
  Fields fields(begin, end, delimiter, options);
  Field field;
  std::int64_t count = 0;
  for (; fields.next(field); ++count) {
    const auto fault = count == expected ? DecodeFault::too_many
                                         : parse_int(without_blanks(field, delimiter), out + count);
    if (fault != DecodeFault::none)
      return decode_fault(fault, begin, end, delimiter, options, count, field.begin);
  }
  if (count < expected)
    return decode_fault(DecodeFault::too_few, begin, end, delimiter, options, count, end);
  return {.fields = count};
}

std::int64_t count_fields(const char* begin, const char* end, char delimiter,
                          DecodeOptions options) {
  Fields fields(begin, end, delimiter, options);
  Field field;
  std::int64_t count = 0;
  while (fields.next(field)) ++count;
  return count;
}

std::string explain(const DecodeResult& result, std::string_view line, std::int64_t expected) {
  const auto at = static_cast<std::size_t>(std::max<std::int64_t>(result.column - 1, 0));
  const auto field =
      line.substr(std::min(at, line.size()), static_cast<std::size_t>(result.length));
  switch (result.fault) {
    case DecodeFault::none:
      return "no fault";
    case DecodeFault::empty:
      return text("field ", result.field, " is empty");
    case DecodeFault::not_a_number:
      return text("field ", result.field, ": ", quoted(field), " is not a number");
    case DecodeFault::not_an_integer:
      return text("field ", result.field, ": ", quoted(field), " is not an integer");
    case DecodeFault::out_of_range:
      return text("field ", result.field, ": ", quoted(field), " does not fit 64 bits");
    case DecodeFault::too_few:
    case DecodeFault::too_many:
      return text("got ", result.fields, " fields, expected ", expected,
                  result.fields == 0 ? ": a blank line" : "");
  }
  return {};
}

}  // namespace troupe::simd
