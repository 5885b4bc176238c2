// The results of TensorFlow's decode_csv: those that its source promises, and those
// that it gave for the records in tests/data/csv.

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "actors/decoders/decode_csv.h"
#include "support/error_matcher.h"

namespace troupe {
namespace {

using test::csv_fields;
using test::decode_csv;
using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- the rules, one by one -------------------------------------------------------------------

Error failure(std::string_view record, std::size_t count, CsvDecoderOptions options = {}) {
  return error_of([&] { csv_fields(record, count, std::move(options)); });
}

constexpr auto kNotEscaped = "has to be escaped by another quote";
constexpr auto kQuoteInside = "unquoted fields cannot have quotes or line ends inside";
constexpr auto kNotClosed = "has to end with a quote followed by the delimiter or the end";

TEST(CsvConformance, AnEmptyRecordHasNoField) {
  EXPECT_THAT(failure("", 1).what(), HasSubstr("got 0 fields, expected 1: a blank line"));
}

TEST(CsvConformance, ADelimiterAtTheEndStandsInFrontOfAnEmptyField) {
  EXPECT_THAT(csv_fields("a,b,", 3), ElementsAre("a", "b", ""));
  EXPECT_THAT(csv_fields(",", 2), ElementsAre("", ""));
}

TEST(CsvConformance, QuotesHoldDelimitersAndDoubledQuotes) {
  EXPECT_THAT(csv_fields("\"a,b\",c", 2), ElementsAre("a,b", "c"));
  EXPECT_THAT(csv_fields("\"a\"\"b\",c", 2), ElementsAre("a\"b", "c"));
  EXPECT_THAT(csv_fields("\"\"", 1), ElementsAre(""));
}

TEST(CsvConformance, QuotesInTheWrongPlaceAreErrors) {
  EXPECT_THAT(failure("\"a\"b,c", 2).what(), HasSubstr(kNotEscaped));
  EXPECT_THAT(failure("a\"b,c", 2).what(), HasSubstr(kQuoteInside));
  EXPECT_THAT(failure("\"a", 1).what(), HasSubstr(kNotClosed));
  EXPECT_THAT(failure("\"a\"\n", 1).what(), HasSubstr(kNotEscaped));
  EXPECT_THAT(csv_fields("a\"b,c", 2, {.syntax = {.quotes = false}}), ElementsAre("a\"b", "c"));
}

TEST(CsvConformance, EndsOfLinesAreLeftOutInFrontOfAFieldAndRefusedInIt) {
  EXPECT_THAT(failure("1,2\r", 2).what(), HasSubstr(kQuoteInside));
  EXPECT_THAT(failure("1,2\n", 2).what(), HasSubstr(kQuoteInside));
  EXPECT_THAT(csv_fields("\n1,2", 2), ElementsAre("1", "2"));
  EXPECT_THAT(csv_fields("1,\n2", 2), ElementsAre("1", "2"));
  EXPECT_THAT(csv_fields("\"a\nb\",c", 2), ElementsAre("a\nb", "c"));
  EXPECT_THAT(failure("a,\n", 2).what(), HasSubstr("got 1 fields, expected 2"));
}

TEST(CsvConformance, ABlankIsADelimiterLikeAnyOther) {
  const CsvDecoderOptions blank{.syntax = {.delimiter = ' '}};
  EXPECT_THAT(csv_fields("a b  c", 4, blank), ElementsAre("a", "b", "", "c"));
  EXPECT_THAT(csv_fields("a b ", 3, blank), ElementsAre("a", "b", ""));
}

TEST(CsvConformance, NothingBehindTheLastSelectedFieldIsLookedAt) {
  EXPECT_THAT(csv_fields("a,\"bad\"x,c", 1, {.select_cols = {0}}), ElementsAre("a"));
  EXPECT_THAT(failure("a,b", 2, {.select_cols = {0, 2}}).what(),
              HasSubstr("got 2 fields, expected 3 or more"));
}

TEST(CsvConformance, EmptyFieldsAndTheNaValueTakeTheDefault) {
  const std::vector<CsvComponent> columns = {csv::with_default("x", 7.0f),
                                             csv::required<std::string>("y")};
  const CsvDecoderOptions na{.na_value = "NA"};
  EXPECT_EQ(decode_csv(",b", columns)[0], Tensor::scalar(7.0f));
  EXPECT_EQ(decode_csv("\"\",b", columns)[0], Tensor::scalar(7.0f));
  EXPECT_EQ(decode_csv("NA,b", columns, na)[0], Tensor::scalar(7.0f));
  EXPECT_THAT(error_of([&] { decode_csv("1,", columns); }),
              IsError(Code::invalid_argument, HasSubstr("'y' (#1) is required but missing")));
  EXPECT_THAT(error_of([&] { decode_csv("1,NA", columns, na); }),
              IsError(Code::invalid_argument, HasSubstr("'y' (#1) is required but missing")));
}

template <class T>
bool is_number(std::string_view field, CsvNumbers rules = CsvNumbers::tensorflow_1) {
  try {
    decode_csv(field, {csv::required<T>("x")}, {.numbers = rules});
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(CsvConformance, IntegersAreDecimalWithoutAPlus) {
  for (const auto* field : {"7", "-7", " 7 ", "\t007", "2147483647", "-2147483648"})
    EXPECT_TRUE(is_number<std::int32_t>(field)) << field;
  for (const auto* field :
       {"+7", "0x7", "7.0", "7e0", "2147483648", "-2147483649", "  ", "7 7", "-"})
    EXPECT_FALSE(is_number<std::int32_t>(field)) << field;
  EXPECT_TRUE(is_number<std::int64_t>("-9223372036854775808"));
  EXPECT_FALSE(is_number<std::int64_t>("9223372036854775808"));
}

TEST(CsvConformance, FloatsAreGenerousButShort) {
  for (const auto* field :
       {"1", "+1", "-1.5e3", " 1. ", ".5", "inf", "-INF", "NaN", "0x1F", "1e999"})
    EXPECT_TRUE(is_number<float>(field)) << field;
  for (const auto* field :
       {"1,5", "1f", "1e", ".", "infinity", "nan(1)", "0x1.8", "+-1", " ", "NA"})
    EXPECT_FALSE(is_number<float>(field)) << field;
  const std::string longest(31, '1');
  EXPECT_TRUE(is_number<float>(longest));
  EXPECT_FALSE(is_number<float>(longest + "1"));
  EXPECT_TRUE(is_number<double>(longest));
  EXPECT_FALSE(is_number<double>(" " + longest));
}

TEST(CsvConformance, ABlankFieldIsNoNumberSilently) {
  EXPECT_FALSE(is_number<double>("   "));
  EXPECT_EQ(csv_fields("  ,a", 2)[0], "  ") << "strings keep their blanks";
}

// ---- what TensorFlow gave --------------------------------------------------------------------

std::string bytes_of(const std::string& part) {
  std::string bytes;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool escaped = part.compare(i, 2, "\\x") == 0;
    bytes += escaped ? static_cast<char>(std::stoi(part.substr(i + 2, 2), nullptr, 16)) : part[i];
    if (escaped) i += 3;
  }
  return bytes;
}

CsvColumn column_of(char letter) {
  switch (letter) {
    case 'F':
      return csv::required<float>("");
    case 'D':
      return csv::required<double>("");
    case 'I':
      return csv::required<std::int32_t>("");
    case 'L':
      return csv::required<std::int64_t>("");
    case 'S':
      return csv::required<std::string>("");
    case 'f':
      return csv::with_default("", -1.5f);
    case 'd':
      return csv::with_default("", 2.5);
    case 'i':
      return csv::with_default("", std::int32_t{7});
    case 'l':
      return csv::with_default("", std::int64_t{-8});
    default:
      return csv::with_default("", "none");
  }
}

/// A value as the file has it.
std::string shown_value(const Tensor& value) {
  char bits[17] = "nan";
  switch (value.dtype()) {
    case DType::float32:
      if (const float x = value.read<float>()[0]; !std::isnan(x))
        std::snprintf(bits, sizeof bits, "%08x", std::bit_cast<std::uint32_t>(x));
      return bits;
    case DType::float64:
      if (const double x = value.read<double>()[0]; !std::isnan(x))
        std::snprintf(bits, sizeof bits, "%016llx",
                      static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(x)));
      return bits;
    case DType::string:
      return value.read<std::string>()[0];
    case DType::int32:
      return std::to_string(value.read<std::int32_t>()[0]);
    default:
      return std::to_string(value.read<std::int64_t>()[0]);
  }
}

/// What was decoded, or what is wrong, as the file has it.
std::vector<std::string> outcome(const std::string& record,
                                 const std::vector<CsvComponent>& columns,
                                 const CsvDecoderOptions& options) {
  const std::map<std::string, std::string> kinds = {{"is required but missing", "missing"},
                                                    {"is not a valid", "invalid"},
                                                    {"got ", "count"},
                                                    {kQuoteInside, "quote_inside"},
                                                    {kNotEscaped, "quote_not_escaped"},
                                                    {kNotClosed, "quote_not_closed"}};
  try {
    std::vector<std::string> found = {"ok"};
    for (const auto& value : decode_csv(record, columns, options))
      found.push_back(shown_value(value));
    return found;
  } catch (const Error& error) {
    const std::string words = error.what();
    std::vector<std::string> found = {"error"};
    for (const auto& [phrase, kind] : kinds)
      if (words.find(phrase) != std::string::npos) found.push_back(kind);
    if (found.back() == "missing" || found.back() == "invalid") {
      const auto field = std::stoll(words.substr(words.find('#') + 1));
      const auto& selected = options.select_cols;
      const auto at = std::ranges::find(selected, field);  // TensorFlow counts those alone
      found.push_back(std::to_string(selected.empty() ? field : at - selected.begin()));
    }
    return found;
  }
}

TEST(CsvConformance, GivesWhatTensorFlowGave) {
  std::ifstream file(TROUPE_TEST_DATA "/csv/decode_csv.txt");
  ASSERT_TRUE(file);
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    std::vector<std::string> parts;
    std::istringstream in(line + "\t");
    for (std::string part; std::getline(in, part, '\t');) parts.push_back(bytes_of(part));
    ASSERT_GE(parts.size(), 8u) << line;
    std::vector<CsvComponent> columns;
    for (const char letter : parts[1]) columns.emplace_back(column_of(letter));
    CsvDecoderOptions options;
    options.syntax.delimiter = parts[2][0];
    options.syntax.quotes = parts[3] == "1";
    options.na_value = parts[4];
    options.numbers = CsvNumbers::tensorflow_2;
    std::istringstream selected(parts[5]);
    for (std::string field; std::getline(selected, field, ':');)
      options.select_cols.push_back(std::stoll(field));
    EXPECT_EQ(outcome(parts[0], columns, options),
              std::vector<std::string>(parts.begin() + 6, parts.end()))
        << line;
  }
  EXPECT_GT(cases, 1000);
}

}  // namespace
}  // namespace troupe
