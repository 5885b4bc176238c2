#include "troupe/actors/readers/csv_format.h"

#include <algorithm>
#include <cstring>

#include "troupe/ops/error.h"
#include "troupe/ops/printable.h"

namespace troupe {
namespace {

constexpr char kQuote = '"';

bool ends_line(char c) { return c == '\n' || c == '\r'; }

const char* find(const char* begin, const char* end, char c) {
  if (begin == end) return nullptr;
  return static_cast<const char*>(std::memchr(begin, c, static_cast<std::size_t>(end - begin)));
}

/// Reads the field at `at`, and sets `at` to the end of the record or to the delimiter behind it.
CsvFault read_quoted(const char*& at, const char* end, char delimiter, CsvField& field) {
  field.begin = ++at;
  while (true) {
    at = find(at, end, kQuote);
    if (at == nullptr) return CsvFault::quote_not_closed;
    field.end = at++;
    if (at == end || *at == delimiter) return CsvFault::none;
    if (*at != kQuote) return CsvFault::quote_not_escaped;
    field.escaped = true;
    ++at;
  }
}

CsvFault read_unquoted(const char*& at, const char* end, const CsvSyntax& syntax, CsvField& field) {
  field.begin = at;
  while (at != end && *at != syntax.delimiter) {
    if (ends_line(*at) || (syntax.quotes && *at == kQuote)) return CsvFault::quote_inside;
    ++at;
  }
  field.end = at;
  return CsvFault::none;
}

}  // namespace

void check(const CsvSyntax& syntax) {
  const char c = syntax.delimiter;
  if (ends_line(c) || (c == kQuote && syntax.quotes))
    fail(Code::invalid_argument, "the delimiter ", shown({&c, 1}),
         " cannot stand between the fields of a CSV file");
}

std::string_view CsvField::value(std::string& scratch) const {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  if (!escaped) return text;
  scratch.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    scratch += text[i];
    if (text[i] == kQuote) ++i;
  }
  return scratch;
}

std::string_view explain(CsvFault fault) {
  switch (fault) {
    case CsvFault::none:
      return "no fault";
    case CsvFault::quote_inside:
      return "unquoted fields cannot have quotes or line ends inside";
    case CsvFault::quote_not_escaped:
      return "a quote inside a quoted field has to be escaped by another quote";
    case CsvFault::quote_not_closed:
      return "a quoted field has to end with a quote followed by the delimiter or the end";
  }
  return {};
}

CsvSplit split_csv(std::string_view record, const CsvSyntax& syntax, std::int64_t stop,
                   std::int64_t keep, std::vector<CsvField>& fields) {
  fields.clear();
  CsvSplit split;
  const char* at = record.data();
  const char* const end = at + record.size();
  while (split.fields < stop) {
    while (at != end && (ends_line(*at) || (syntax.merge_delimiters && *at == syntax.delimiter)))
      ++at;
    if (at == end) break;
    CsvField field;
    split.at = at;
    split.fault = syntax.quotes && *at == kQuote ? read_quoted(at, end, syntax.delimiter, field)
                                                 : read_unquoted(at, end, syntax, field);
    if (split.fault != CsvFault::none) return split;
    if (split.fields++ < keep) fields.push_back(field);
    if (at != end) ++at;
  }
  const bool one_more = split.fields < stop && !record.empty() &&
                        record.back() == syntax.delimiter && !syntax.merge_delimiters;
  if (one_more && split.fields++ < keep) fields.push_back({end, end, false});
  return split;
}

const char* CsvScanner::find_end(const char* begin, const char* end) {
  const char* at = begin;
  while (at != end) {
    if (state_ == State::quoted) {
      at = find(at, end, kQuote);
      if (at == nullptr) return nullptr;
      ++at;
      state_ = State::behind_quote;
      continue;
    }
    const char c = *at;
    if (c == '\n') return at;
    if (c == syntax_.delimiter) {
      state_ = State::field_start;
    } else if (c == kQuote && syntax_.quotes && state_ != State::unquoted) {
      if (state_ == State::field_start) opened_ = at;
      state_ = State::quoted;
    } else {
      state_ = State::unquoted;
    }
    ++at;
  }
  return nullptr;
}

std::string shown(std::string_view field) {
  constexpr std::size_t kLongest = 40;
  auto length = std::min(field.size(), kLongest);
  if (length < field.size())  // not in the middle of a character
    while (length > 0 && (field[length] & 0xC0) == 0x80) --length;
  return text('"', printable(field.substr(0, length)), length < field.size() ? "...\"" : "\"");
}

}  // namespace troupe
