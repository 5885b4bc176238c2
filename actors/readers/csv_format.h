#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// How fields stand in a record.
struct CsvSyntax {
  char delimiter = ',';
  bool quotes = true;               ///< false: '"' is a character like any other
  bool merge_delimiters = false;    ///< several in a row count as one, those at both ends as none
  bool trailing_delimiter = false;  ///< one may follow the last field
};

/// Throws invalid_argument for a delimiter that cannot be one.
void check(const CsvSyntax& syntax);

/// One field, without the quotes around it.
struct CsvField {
  const char* begin = nullptr;
  const char* end = nullptr;
  bool escaped = false;  ///< holds "" where " is meant

  /// Its value; `scratch` keeps it when it is not in the record as it stands.
  std::string_view value(std::string& scratch) const;
};

/// What is wrong with the quotes of a record.
enum class CsvFault : std::uint8_t { none, quote_inside, quote_not_escaped, quote_not_closed };
std::string_view explain(CsvFault fault);

struct CsvSplit {
  std::int64_t fields = 0;  ///< how many there are, up to `stop`
  CsvFault fault = CsvFault::none;
  const char* at = nullptr;  ///< the field at fault
};

/// Cuts a record into its fields, byte by byte, by the rules of TensorFlow's
/// decode_csv:
///
/// - A field that starts with a quote runs to a quote that is followed by the
///   delimiter or the end of the record; "" inside stands for one quote.
/// - Other fields hold no quote and no end of a line.
/// - Ends of lines at the start of a field are left out.
/// - A delimiter at the very end stands in front of one more, empty field; a record
///   without any byte has none.
///
/// What lies behind field number `stop` is not looked at. `fields` gets the first
/// `keep` of them.
CsvSplit split_csv(std::string_view record, const CsvSyntax& syntax, std::int64_t stop,
                   std::int64_t keep, std::vector<CsvField>& fields);

/// What a byte means for where a record ends: quotes count at the start of a field
/// only, and whatever follows a quote that closes belongs to an unquoted field.
class CsvScanner {
 public:
  explicit CsvScanner(const CsvSyntax& syntax) : syntax_(syntax) {}

  /// The first newline in [begin, end) that ends a record, or nullptr. Goes on
  /// where the last call stopped.
  const char* find_end(const char* begin, const char* end);

  /// Whether the text so far ends inside of quotes, and the quote that opened them.
  bool quoted() const { return state_ == State::quoted; }
  const char* opened() const { return opened_; }

 private:
  enum class State : std::uint8_t { field_start, unquoted, quoted, behind_quote };
  CsvSyntax syntax_;
  State state_ = State::field_start;
  const char* opened_ = nullptr;
};

/// A field as a message shows it: in quotes, not longer than a message should be,
/// and without control characters.
std::string shown(std::string_view field);

}  // namespace troupe
