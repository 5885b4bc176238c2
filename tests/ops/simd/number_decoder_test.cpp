#include "troupe/ops/simd/number_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "support/isa_levels.h"

namespace troupe::simd {
namespace {

using test::isa_levels;
using test::isa_name;
using testing::ElementsAre;

/// A line with exactly the promised padding around it, at a chosen place modulo
/// 64, so that the address sanitizer sees any read beyond.
class PaddedLine {
 public:
  explicit PaddedLine(const std::string& line, char padding = '7', std::size_t offset = 0)
      : bytes_(offset + 2 * kDecodePadding + line.size(), padding),
        begin_(bytes_.data() + offset + kDecodePadding),
        end_(begin_ + line.size()) {
    std::copy(line.begin(), line.end(), bytes_.begin() + (begin_ - bytes_.data()));
  }
  const char* begin() const { return begin_; }
  const char* end() const { return end_; }

 private:
  std::vector<char> bytes_;
  const char* begin_;
  const char* end_;
};

/// What a line decodes to; values are undefined after a fault.
struct Decoded {
  DecodeResult result;
  std::vector<float> values;
};

std::string printed(const char* format, double value) {
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string joined(const std::vector<std::string>& fields, char delimiter) {
  std::string line;
  for (const auto& field : fields) line += (line.empty() ? "" : std::string(1, delimiter)) + field;
  return line;
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

class NumberDecoder : public testing::TestWithParam<Isa> {
 protected:
  Decoded decode(const PaddedLine& line, std::int64_t expected, char delimiter = ',',
                 DecodeOptions options = {}) const {
    constexpr float kUntouched = 12345;
    std::vector<float> out(static_cast<std::size_t>(expected) + 4, kUntouched);
    const auto result = pick(v2::decode_floats, v3::decode_floats, v4::decode_floats, GetParam())(
        line.begin(), line.end(), delimiter, out.data(), expected, options);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(out[static_cast<std::size_t>(expected + i)], kUntouched);
    out.resize(static_cast<std::size_t>(expected));
    return {result, out};
  }
  Decoded decode(const std::string& line, std::int64_t expected, char delimiter = ',',
                 DecodeOptions options = {}) const {
    return decode(PaddedLine(line), expected, delimiter, options);
  }

  void expect_the_bits_of_strtof(const std::vector<std::string>& fields, char delimiter = ',') {
    const auto line = joined(fields, delimiter);
    const auto count = static_cast<std::int64_t>(fields.size());
    const auto [result, values] = decode(line, count, delimiter);
    ASSERT_TRUE(result.ok()) << explain(result, line, count);
    EXPECT_EQ(result.fields, count);
    for (std::size_t i = 0; i < fields.size(); ++i)
      ASSERT_EQ(bits(values[i]), bits(std::strtof(fields[i].c_str(), nullptr))) << fields[i];
  }

  std::mt19937_64 random_{20261129};
};

INSTANTIATE_TEST_SUITE_P(Isa, NumberDecoder, testing::ValuesIn(isa_levels()), isa_name);

TEST_P(NumberDecoder, ReadsOrdinaryNumbers) {
  EXPECT_THAT(decode("1.5,-2,0.25,+3,.5,7.,1e3,-0", 8).values,
              ElementsAre(1.5f, -2, 0.25f, 3, 0.5f, 7, 1000, -0.0f));
}

TEST_P(NumberDecoder, GivesTheBitsOfStrtofInEveryUsualFormat) {
  std::uniform_real_distribution<double> unit(-1, 1);
  std::uniform_real_distribution<double> magnitude(-50, 45);
  for (const char* format : {"%.6f", "%.6g", "%.9g", "%.17g", "%.0f", "%.1f", "%.10f", "%+.4f",
                             "%g", "%e", "%.18e", "%E", "%012.5f", "%.25f"}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::string> fields;
      for (int i = 0; i < 300; ++i) {
        const auto value = unit(random_);
        const auto scale = round % 2 == 0 ? 100.0 : std::pow(10, magnitude(random_));
        fields.push_back(printed(format, value * scale));
      }
      expect_the_bits_of_strtof(fields);
    }
  }
}

TEST_P(NumberDecoder, GivesTheBitsOfStrtofForDigitsOfEveryLengthWithTheDotAnywhere) {
  std::uniform_int_distribution<int> digit('0', '9');
  std::vector<std::string> fields;
  for (int length = 1; length <= 40; ++length) {
    for (int dot = -1; dot <= length; ++dot) {
      for (const char* sign : {"", "-", "+"}) {
        std::string field;
        for (int i = 0; i < length; ++i) field += static_cast<char>(digit(random_));
        if (dot >= 0) field.insert(static_cast<std::size_t>(dot), 1, '.');
        fields.push_back(sign + field);
      }
    }
    fields.push_back(std::string(static_cast<std::size_t>(length), '0'));
    fields.push_back(std::string(static_cast<std::size_t>(length), '0') + "1.5");
  }
  std::shuffle(fields.begin(), fields.end(), random_);
  expect_the_bits_of_strtof(fields);
}

TEST_P(NumberDecoder, GivesTheBitsOfStrtofHalfWayBetweenTwoFloatsAndNextToIt) {
  std::uniform_int_distribution<std::uint32_t> mantissa(1u << 23, (1u << 24) - 1);
  std::uniform_int_distribution<int> exponent(-6, 30);
  std::vector<std::string> fields = {
      "16777217",         "16777219", "8388608.5", "-4194304.25", "1.00000005960464477539063",
      "0.000030517579569"};
  for (int i = 0; i < 2000; ++i) {
    const auto half = mantissa(random_) + 0.5;  // the exact middle, printed exactly
    auto field = printed("%.30f", std::ldexp(half, exponent(random_) - 23));
    field.erase(field.find_last_not_of('0') + 1);
    fields.push_back(field);
    if (field.back() == '.') field.pop_back();
    fields.push_back(field);
    fields.push_back(field + (field.find('.') == std::string::npos ? ".1" : "1"));
    if (field.back() != '0') field.back() = static_cast<char>(field.back() - 1);
    fields.push_back(field);
  }
  expect_the_bits_of_strtof(fields);
}

TEST_P(NumberDecoder, RoundsOnceWhereTwiceWouldBeWrong) {
  // A number next to the middle of two floats: the nearest double is that middle.
  std::uniform_int_distribution<std::uint32_t> mantissa(1u << 23, (1u << 24) - 1);
  std::vector<std::string> fields;
  for (const std::string suffix : {"", "e-05"}) {
    const auto found = fields.size() + 300;
    while (fields.size() < found) {
      const auto middle = std::ldexp(mantissa(random_) + 0.5, suffix.empty() ? -24 : -41);
      const auto shown = suffix.empty() ? middle : middle * 1e5;  // from 0.3 to 1
      const auto field = printed("%.14f", shown).substr(1) + suffix;
      const auto twice = static_cast<float>(std::strtod(field.c_str(), nullptr));
      if (std::strtof(field.c_str(), nullptr) != twice) fields.push_back(field);
    }
  }
  expect_the_bits_of_strtof(fields);
}

TEST_P(NumberDecoder, GivesTheBitsOfStrtofForEveryExponent) {
  std::vector<std::string> fields;
  for (const char* number : {"0", "1", "-1", "9.999999", "-123.456789", "123456789012345",
                             "12345678901234567", ".5", "5.", "0.000001234567"}) {
    for (int exponent = -60; exponent <= 60; ++exponent) {
      char text[8];
      for (const char* format : {"e%d", "E%+03d", "e%+03d", "e%+04d"}) {
        std::snprintf(text, sizeof text, format, exponent);
        fields.push_back(std::string(number) + text);
      }
    }
  }
  expect_the_bits_of_strtof(fields);
}

TEST_P(NumberDecoder, ReadsWhatIsNotFinite) {
  expect_the_bits_of_strtof({"inf", "-inf", "+Inf", "INFINITY", "-infinity", "1e39", "-1e400"});
  expect_the_bits_of_strtof({"nan", "NaN", "-nan", "1e-46", "-1e-400", "1e-45"});
}

TEST_P(NumberDecoder, ReadsEveryDelimiter) {
  for (int c = 0; c < 256; ++c) {
    const auto delimiter = static_cast<char>(c);
    if (std::strchr("0123456789.+-eE", c) != nullptr && c != 0) continue;
    expect_the_bits_of_strtof({"1.5", "-2.25", "3", "4.125e-05", "12345678901234567890", "0"},
                              delimiter);
  }
}

TEST_P(NumberDecoder, ReadsFieldsAtEveryPlaceAndLinesOfEveryLength) {
  std::uniform_int_distribution<int> digits(1, 12);
  for (std::size_t offset = 0; offset < 64; ++offset) {
    for (std::size_t length = 1; length <= 200; ++length) {
      std::vector<std::string> fields;
      std::string line;
      while (line.size() < length) {
        fields.push_back(printed("%.0f", 1 + 1e9 * std::generate_canonical<double, 30>(random_))
                             .substr(0, static_cast<std::size_t>(digits(random_))));
        line += (line.empty() ? "" : ",") + fields.back();
      }
      const auto [result, values] =
          decode(PaddedLine(line, '1', offset), static_cast<std::int64_t>(fields.size()));
      ASSERT_TRUE(result.ok()) << line;
      for (std::size_t i = 0; i < fields.size(); ++i)
        ASSERT_EQ(values[i], std::strtof(fields[i].c_str(), nullptr)) << line;
    }
  }
}

TEST_P(NumberDecoder, DoesNotSeeWhatStandsAroundTheLine) {
  for (const char padding : {'\0', '\n', ',', ' ', '-', '+', '.', '0', '9', 'e', 'x', '\xff'}) {
    for (const char* line : {"1", "-1", "1.25,2,-3", "7,8.", "5e+01", "1,2,3,4,5,6,7,8"}) {
      SCOPED_TRACE(testing::Message() << line << " in " << int{padding});
      const auto count = count_fields(line, line + std::strlen(line), ',');
      const auto [result, values] = decode(PaddedLine(line, padding), count);
      EXPECT_TRUE(result.ok());
      EXPECT_EQ(values, decode(line, count).values);
      const auto shorter = decode(PaddedLine(line, padding), count - 1).result;
      EXPECT_EQ(shorter.fault, DecodeFault::too_many);
      EXPECT_EQ(shorter.fields, count);
    }
    EXPECT_EQ(decode(PaddedLine("", padding), 1).result.fault, DecodeFault::too_few);
    EXPECT_EQ(decode(PaddedLine("1,", padding), 2).result.fault, DecodeFault::empty);
    EXPECT_EQ(decode(PaddedLine("1,-", padding), 2).result.fault, DecodeFault::not_a_number);
  }
}

TEST_P(NumberDecoder, SkipsBlanksAroundNumbers) {
  EXPECT_THAT(decode(" 1 ,\t2,3\t, -4.5,  5e-01  , 6", 6).values,
              ElementsAre(1, 2, 3, -4.5f, 0.5f, 6));
  EXPECT_THAT(decode("1\t 2 \t3", 3, '\t').values, ElementsAre(1, 2, 3));
  EXPECT_THAT(decode("1 \t2 3", 3, ' ').values, ElementsAre(1, 2, 3));
}

constexpr DecodeOptions kMerge{.merge_delimiters = true, .trailing_delimiter = false};
constexpr DecodeOptions kTrailing{.merge_delimiters = false, .trailing_delimiter = true};

TEST_P(NumberDecoder, MergesDelimitersWhenAsked) {
  EXPECT_THAT(decode("  1   -2.5 3    4    5e+00 ", 5, ' ', kMerge).values,
              ElementsAre(1, -2.5f, 3, 4, 5));
  EXPECT_EQ(decode("    ", 0, ' ', kMerge).result.fields, 0);
  std::uniform_int_distribution<std::size_t> blanks(1, 30);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> fields;
    std::string line(blanks(random_) - 1, ' ');
    for (int i = 0; i < 50; ++i) {
      fields.push_back(printed("%.4g", std::normal_distribution<>(0, 10)(random_)));
      line += fields.back() + std::string(blanks(random_), ' ');
    }
    const auto [result, values] = decode(line, 50, ' ', kMerge);
    ASSERT_TRUE(result.ok()) << line;
    for (std::size_t i = 0; i < fields.size(); ++i)
      ASSERT_EQ(values[i], std::strtof(fields[i].c_str(), nullptr));
  }
}

TEST_P(NumberDecoder, LetsOneDelimiterTrailWhenAsked) {
  EXPECT_TRUE(decode("1,2,", 2, ',', kTrailing).result.ok());
  EXPECT_TRUE(decode("1,2", 2, ',', kTrailing).result.ok());
  EXPECT_EQ(decode("1,2,,", 2, ',', kTrailing).result.fault, DecodeFault::too_many);
  EXPECT_EQ(decode("1,2,", 3, ',', kTrailing).result.fault, DecodeFault::too_few);
}

struct Wrong {
  std::string line;
  std::int64_t expected;
  DecodeFault fault;
  std::int64_t field, column, fields;
  char delimiter = ',';
  DecodeOptions options = {};
};

const Wrong kWrong[] = {
    {"", 2, DecodeFault::too_few, 0, 1, 0},
    {"1", 2, DecodeFault::too_few, 1, 2, 1},
    {"1.5,22,3", 5, DecodeFault::too_few, 3, 9, 3},
    {"1,2,3", 2, DecodeFault::too_many, 2, 5, 3},
    {"1,2,", 2, DecodeFault::too_many, 2, 5, 3},
    {"1,2", 0, DecodeFault::too_many, 0, 1, 2},
    {"1,2,3,4,5,6,7,8,9,10", 5, DecodeFault::too_many, 5, 11, 10},
    {"1,,3", 3, DecodeFault::empty, 1, 3, 3},
    {",1", 2, DecodeFault::empty, 0, 1, 2},
    {"1,2,", 3, DecodeFault::empty, 2, 5, 3},
    {"1, \t ,3", 3, DecodeFault::empty, 1, 3, 3},
    {",", 1, DecodeFault::empty, 0, 1, 2},
    {" ", 1, DecodeFault::empty, 0, 1, 1},
    {"1.2.3", 1, DecodeFault::not_a_number, 0, 1, 1},
    {"1,abc,3", 3, DecodeFault::not_a_number, 1, 3, 3},
    {"1,2,1e", 3, DecodeFault::not_a_number, 2, 5, 3},
    {"1,--1", 2, DecodeFault::not_a_number, 1, 3, 2},
    {"1 2,3", 2, DecodeFault::not_a_number, 0, 1, 2},
    {"4,1 2", 2, DecodeFault::not_a_number, 1, 3, 2},
    {"1;2", 1, DecodeFault::not_a_number, 0, 1, 1},
    {"1,2,3,4,5,6,7,8,9,1O", 10, DecodeFault::not_a_number, 9, 19, 10},
    {"1.2.3,4,5", 9, DecodeFault::not_a_number, 0, 1, 3},  // the first fault from the left
    {"1  2", 2, DecodeFault::empty, 1, 3, 3, ' '},
    {"  1   2x 3", 3, DecodeFault::not_a_number, 1, 7, 3, ' ', kMerge},
    {"  1   2  3 ", 2, DecodeFault::too_many, 2, 10, 3, ' ', kMerge},
    {"  1   2  ", 3, DecodeFault::too_few, 2, 10, 2, ' ', kMerge},
    {"   ", 1, DecodeFault::too_few, 0, 4, 0, ' ', kMerge},
    {"1,2 ,x,", 3, DecodeFault::not_a_number, 2, 6, 3, ',', kTrailing},
};

TEST_P(NumberDecoder, SaysWhichFieldIsWrongAndWhereItStands) {
  for (const auto& wrong : kWrong) {
    SCOPED_TRACE(wrong.line);
    const auto got = decode(wrong.line, wrong.expected, wrong.delimiter, wrong.options).result;
    EXPECT_EQ(got.fault, wrong.fault);
    EXPECT_EQ(got.field, wrong.field);
    EXPECT_EQ(got.column, wrong.column);
    EXPECT_EQ(got.fields, wrong.fields);
  }
}

TEST_P(NumberDecoder, RefusesWhatIsNotANumberWhereverItStands) {
  for (const char* field : {".",
                            "-",
                            "+",
                            "-.",
                            "+-1",
                            "-+1",
                            "++1",
                            "--1",
                            "1-",
                            "1-2",
                            "1+2",
                            "..1",
                            "1..",
                            "1.2.",
                            "e5",
                            "e+05",
                            "-e+05",
                            ".e+05",
                            "1e",
                            "1e+",
                            "1e+-5",
                            "1e5.",
                            "1e+0x",
                            "1.5f",
                            "0x10",
                            "0x1p3",
                            "1_000",
                            "in",
                            "infinit",
                            "infinityy",
                            "nan(1)",
                            "nan(",
                            "na",
                            "1.0e-05x",
                            "x1.0e-05",
                            "\x01",
                            "\xff",
                            "12345678901234x",
                            "123456789012345678901234567x",
                            "\"1\"",
                            "1\r",
                            "1/2",
                            "1:",
                            "/",
                            ":",
                            "- 1",
                            "+ 1"}) {
    for (std::size_t at = 0; at < 9; ++at) {
      std::vector<std::string> fields(9, "0.5");
      fields[at] = field;
      const auto got = decode(joined(fields, ','), 9).result;
      ASSERT_EQ(got.fault, DecodeFault::not_a_number) << field << " in field " << at;
      EXPECT_EQ(got.field, static_cast<std::int64_t>(at));
      EXPECT_EQ(got.column, static_cast<std::int64_t>(4 * at + 1));
      EXPECT_EQ(got.length, static_cast<std::int64_t>(std::strlen(field)));
    }
  }
}

/// The rules once more, one byte at a time.
Decoded decode_slowly(const std::string& line, std::int64_t expected, char delimiter,
                      DecodeOptions options) {
  static const std::regex kNumber(
      "[+-]?(([0-9]+\\.?[0-9]*|\\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)",
      std::regex::icase | std::regex::optimize);
  struct Field {
    std::int64_t at;
    std::string text;
  };
  std::vector<Field> fields;
  if (!line.empty()) {
    fields.push_back({0, ""});
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] != delimiter)
        fields.back().text += line[i];
      else
        fields.push_back({static_cast<std::int64_t>(i) + 1, ""});
    }
  }
  if (options.merge_delimiters)
    std::erase_if(fields, [](const Field& f) { return f.text.empty(); });
  else if (options.trailing_delimiter && fields.size() > 1 && fields.back().text.empty())
    fields.pop_back();

  Decoded decoded;
  auto& result = decoded.result;
  result.fields = static_cast<std::int64_t>(fields.size());
  const auto fault = [&](DecodeFault what, std::size_t field, std::int64_t at) {
    result.fault = what;
    result.field = static_cast<std::int64_t>(field);
    result.column = at + 1;
    return decoded;
  };
  std::string blanks = " \t";
  std::erase(blanks, delimiter);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto text = fields[i].text;
    if (result.fields > expected && static_cast<std::int64_t>(i) == expected)
      return fault(DecodeFault::too_many, i, fields[i].at);
    text.erase(0, text.find_first_not_of(blanks));
    text.erase(text.find_last_not_of(blanks) + 1);
    if (text.empty()) return fault(DecodeFault::empty, i, fields[i].at);
    if (text.find('\0') != std::string::npos || !std::regex_match(text, kNumber))
      return fault(DecodeFault::not_a_number, i, fields[i].at);
    decoded.values.push_back(std::strtof(text.c_str(), nullptr));
  }
  if (result.fields < expected)
    return fault(DecodeFault::too_few, fields.size(), static_cast<std::int64_t>(line.size()));
  return decoded;
}

TEST_P(NumberDecoder, AgreesWithTheRulesOnAnyBytes) {
  // From alphabets that give mostly numbers to one of any bytes.
  const std::string alphabets[] = {"0123456789,",      "0123456789..,,",
                                   "01,,.-",           "19.-+eE, \t",
                                   "infatyINF,e+-0. ", std::string("\0\x01 x,\xff\"\r;1", 10)};
  std::uniform_int_distribution<std::size_t> length(0, 200);
  std::uniform_int_distribution<int> some(-2, 2);
  for (int round = 0; round < 12000; ++round) {
    const auto& alphabet = alphabets[static_cast<std::size_t>(round) % std::size(alphabets)];
    std::uniform_int_distribution<std::size_t> letter(0, alphabet.size() - 1);
    const char delimiter = round % 5 == 0 ? ' ' : ',';
    const DecodeOptions options{.merge_delimiters = round % 3 == 0,
                                .trailing_delimiter = round % 4 == 0};
    std::string line(length(random_) / (round % 7 == 0 ? 20 : 1), ' ');
    for (auto& c : line) c = alphabet[letter(random_)];

    auto expected = count_fields(line.data(), line.data() + line.size(), delimiter, options);
    if (round % 2 == 0) expected = std::max<std::int64_t>(0, expected + some(random_));
    const auto wanted = decode_slowly(line, expected, delimiter, options);
    const auto got =
        decode(PaddedLine(line, alphabet[0], length(random_)), expected, delimiter, options);
    SCOPED_TRACE(testing::Message() << '"' << line << "\" delimiter '" << delimiter << "' merge "
                                    << options.merge_delimiters << " trailing "
                                    << options.trailing_delimiter << " expected " << expected);
    ASSERT_EQ(got.result.fault, wanted.result.fault);
    ASSERT_EQ(got.result.fields, wanted.result.fields);
    if (got.result.ok()) {
      for (std::size_t i = 0; i < wanted.values.size(); ++i)
        ASSERT_EQ(bits(got.values[i]), bits(wanted.values[i])) << "field " << i;
    } else {
      ASSERT_EQ(got.result.field, wanted.result.field);
      ASSERT_EQ(got.result.column, wanted.result.column);
    }
  }
}

TEST_P(NumberDecoder, ReadsLinesMuchLongerThanOnePiece) {
  std::vector<std::string> fields;
  for (int i = 0; i < 20000; ++i) fields.push_back(printed("%.6f", i / 7.0));
  for (int i = 0; i < 20000; ++i) fields.push_back(std::to_string(i % 10));
  expect_the_bits_of_strtof(fields);
}

class IntegerDecoder : public testing::Test {
 protected:
  DecodeResult decode(const std::string& line, std::int64_t expected, char delimiter = ',',
                      DecodeOptions options = {}) {
    values.assign(static_cast<std::size_t>(expected), 0);
    return decode_ints(line.data(), line.data() + line.size(), delimiter, values.data(), expected,
                       options);
  }
  std::vector<std::int64_t> values;
};

TEST_F(IntegerDecoder, ReadsAllOf64Bits) {
  ASSERT_TRUE(decode("0,-1, +7 ,9223372036854775807,-9223372036854775808,007", 6).ok());
  EXPECT_THAT(values, ElementsAre(0, -1, 7, std::numeric_limits<std::int64_t>::max(),
                                  std::numeric_limits<std::int64_t>::min(), 7));
  ASSERT_TRUE(decode("  1   2 ", 2, ' ', kMerge).ok());
  EXPECT_THAT(values, ElementsAre(1, 2));
}

TEST_F(IntegerDecoder, SaysWhichFieldIsWrong) {
  const Wrong wrong[] = {
      {"1,9223372036854775808", 2, DecodeFault::out_of_range, 1, 3, 2},
      {"-9223372036854775809", 1, DecodeFault::out_of_range, 0, 1, 1},
      {"1,2.0", 2, DecodeFault::not_an_integer, 1, 3, 2},
      {"1,+-2", 2, DecodeFault::not_an_integer, 1, 3, 2},
      {"1,+", 2, DecodeFault::not_an_integer, 1, 3, 2},
      {"1,99999999999999999999x", 2, DecodeFault::not_an_integer, 1, 3, 2},
      {"1,,2", 3, DecodeFault::empty, 1, 3, 3},
      {"1,2", 3, DecodeFault::too_few, 2, 4, 2},
      {"1,2,3", 2, DecodeFault::too_many, 2, 5, 3},
  };
  for (const auto& [line, expected, fault, field, column, fields, delimiter, options] : wrong) {
    SCOPED_TRACE(line);
    const auto got = decode(line, expected, delimiter, options);
    EXPECT_EQ(got.fault, fault);
    EXPECT_EQ(got.field, field);
    EXPECT_EQ(got.column, column);
    EXPECT_EQ(got.fields, fields);
  }
}

TEST(DecodeResult, IsExplainedToPeople) {
  const auto message = [](std::string line, std::int64_t expected) {
    std::vector<float> out(8);
    const PaddedLine padded(line);
    const auto got = decode_floats(padded.begin(), padded.end(), ',', out.data(), expected);
    return explain(got, line, expected);
  };
  EXPECT_EQ(message("1,1.2.3,4", 3), "field 1: \"1.2.3\" is not a number");
  EXPECT_EQ(message("1,,4", 3), "field 1 is empty");
  EXPECT_EQ(message("1,2", 3), "got 2 fields, expected 3");
  EXPECT_EQ(message("1,2,3,4", 3), "got 4 fields, expected 3");
  EXPECT_EQ(message("a\nb" + std::string(80, 'c'), 1),
            "field 0: \"a?b" + std::string(37, 'c') + "...\" is not a number");
}

}  // namespace
}  // namespace troupe::simd
