#include "troupe/ops/simd/csv_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/isa_levels.h"

namespace troupe::simd {
namespace {

using test::isa_levels;
using test::isa_name;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kMany = 1 << 20;
constexpr std::size_t kPadding = 64;

/// A text with exactly the promised padding around it, full of what would mislead,
/// so that the address sanitizer sees any read beyond.
class PaddedText {
 public:
  explicit PaddedText(const std::string& text, std::size_t offset = 0)
      : bytes_(std::string(offset + kPadding, '"') + text + std::string(kPadding, '\n')),
        begin_(bytes_.data() + offset + kPadding),
        end_(begin_ + text.size()) {}
  const char* begin() const { return begin_; }
  const char* end() const { return end_; }

 private:
  std::string bytes_;
  const char* begin_;
  const char* end_;
};

struct Found {
  std::vector<std::uint32_t> ends;
  std::int64_t lines = 0;
  bool irregular = false;
};

using Spans = std::vector<std::string>;

/// Where records end, one byte after the other.
Found plain_records(const std::string& text, char delimiter, bool quotes) {
  Found found;
  bool quoted = false;
  std::int64_t lines = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char before = i == 0 ? '\n' : text[i - 1];
    if (text[i] == '"' && quotes) {
      if (!quoted && before != '\n' && before != delimiter && before != '"') {
        found.irregular = true;
        return found;
      }
      quoted = !quoted;
    } else if (text[i] == '\n') {
      ++lines;
      if (!quoted) {
        found.ends.push_back(static_cast<std::uint32_t>(i));
        found.lines = lines;
      }
    }
  }
  return found;
}

std::string random_text(std::mt19937& random, const std::string& atoms, std::size_t size) {
  std::string text;
  while (text.size() < size) text += atoms[random() % atoms.size()];
  return text;
}

class CsvKernels : public testing::TestWithParam<Isa> {
 protected:
  Found records(const std::string& text, std::int64_t most = kMany, std::int64_t bytes = kMany,
                bool quotes = true, std::size_t offset = 0) const {
    const PaddedText padded(text, offset);
    Found found;
    found.ends.resize(std::min<std::size_t>(text.size(), static_cast<std::size_t>(most)) +
                      kCsvSlack);
    const auto result =
        pick(v2::find_csv_records, v3::find_csv_records, v4::find_csv_records, GetParam())(
            padded.begin(), padded.end(), ',', quotes, most, bytes, found.ends.data());
    found.ends.resize(static_cast<std::size_t>(result.count));
    found.lines = result.lines;
    found.irregular = result.irregular;
    return found;
  }

  std::int64_t split(const std::string& record, Spans& fields, char delimiter = ',',
                     bool merge = false, bool quotes = true, std::int64_t most = kMany) const {
    const PaddedText padded(record, record.size() % 7);
    const auto room =
        std::min<std::size_t>(record.size(), static_cast<std::size_t>(most)) + 1 + kCsvSlack;
    std::vector<std::uint32_t> begins(room), ends(room);
    const auto count = pick(v2::split_csv_record, v3::split_csv_record, v4::split_csv_record,
                            GetParam())(padded.begin(), padded.end(), delimiter, quotes, merge,
                                        most, begins.data(), ends.data());
    fields.clear();
    for (std::int64_t i = 0; i < std::min(count, most); ++i)
      fields.emplace_back(padded.begin() + begins[i], padded.begin() + ends[i]);
    return count;
  }

  /// The value of one field, or nothing if it is left to others.
  template <class T>
  std::vector<T> number(const std::string& field, CsvKind kind) const {
    const PaddedText padded(field);
    const std::uint32_t begin = 0, end = static_cast<std::uint32_t>(field.size());
    T rows[2] = {};
    std::uint32_t left = 7;
    const CsvTarget target{kind, 0, reinterpret_cast<char*>(rows), sizeof(T)};
    const auto rest = pick(v2::decode_csv_numbers, v3::decode_csv_numbers, v4::decode_csv_numbers,
                           GetParam())(padded.begin(), &begin, &end, &target, 1, 1, &left);
    if (rest == 0) return {rows[1]};
    EXPECT_EQ(left, 0u);
    return {};
  }
};

INSTANTIATE_TEST_SUITE_P(, CsvKernels, testing::ValuesIn(isa_levels()), isa_name);

TEST_P(CsvKernels, FindRecordsAndLeaveQuotedNewlinesInThem) {
  const auto found = records("a,b\n\"x\ny\",2\n\"\"\"\n\"\n\nrest");
  EXPECT_THAT(found.ends, ElementsAre(3, 11, 17, 18));
  EXPECT_EQ(found.lines, 6);
  EXPECT_FALSE(found.irregular);
}

TEST_P(CsvKernels, StopInFrontOfARecordWithAQuoteInAField) {
  const auto found = records("a\nb\n5\" x 7\",1\nc\n");
  EXPECT_THAT(found.ends, ElementsAre(1, 3));
  EXPECT_TRUE(found.irregular);
  EXPECT_THAT(records("5\" x\n", 1, kMany, false).ends, ElementsAre(4));
}

TEST_P(CsvKernels, FindNoMoreRecordsThanTheyMay) {
  EXPECT_THAT(records("1\n2\n3\n4\n", 3).ends, ElementsAre(1, 3, 5));
  EXPECT_EQ(records("1\n2\n3\n4\n", 3).lines, 3);
  EXPECT_THAT(records("1\n2\n3\n4\n", kMany, 3).ends, ElementsAre(1, 3));
  EXPECT_THAT(records("1\n2\n3\n4\n", kMany, 4).ends, ElementsAre(1, 3, 5));
  EXPECT_THAT(records("1\n2\n", kMany, 1).ends, ElementsAre(1));
}

TEST_P(CsvKernels, FindTheRecordsThatAPlainLoopFinds) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const auto* atoms = round % 3 == 0 ? "ab,\n\"\"" : round % 3 == 1 ? "abcdefgh,\"\n" : "\",\n";
    auto text = random_text(random, atoms, random() % 300);
    if (round % 2)  // regular quotes are otherwise rare in a long text
      for (std::size_t i = 1; i < text.size(); ++i)
        if (text[i] == '"' && text[i - 1] >= 'a') text[i] = 'q';
    const auto expected = plain_records(text, ',', true);
    const auto found = records(text, kMany, kMany, true, random() % 64);
    EXPECT_EQ(found.ends, expected.ends) << text;
    EXPECT_EQ(found.irregular, expected.irregular) << text;
    EXPECT_EQ(found.lines, expected.lines) << text;
    const std::int64_t most = 1 + random() % 20;
    auto first = expected.ends;
    if (static_cast<std::int64_t>(first.size()) > most)
      first.resize(static_cast<std::size_t>(most));
    EXPECT_EQ(records(text, most).ends, first) << text;
  }
}

TEST_P(CsvKernels, SplitARecordAtItsDelimiters) {
  Spans fields;
  EXPECT_EQ(split("a,bc,,d", fields), 4);
  EXPECT_THAT(fields, ElementsAre("a", "bc", "", "d"));
  EXPECT_EQ(split(",", fields), 2);
  EXPECT_THAT(fields, ElementsAre("", ""));
  EXPECT_EQ(split("", fields), 0);
  EXPECT_EQ(split("  a  b c ", fields, ' ', true), 3);
  EXPECT_THAT(fields, ElementsAre("a", "b", "c"));
  EXPECT_EQ(split("   ", fields, ' ', true), 0);
}

TEST_P(CsvKernels, LeaveRecordsWithQuotesOrLineEndsToOthers) {
  Spans fields;
  for (const auto* record : {"a,\"b\"", "a\n", "\ra", "\""}) EXPECT_EQ(split(record, fields), -1);
  EXPECT_EQ(split("a\",b", fields, ',', false, false), 2);
  EXPECT_EQ(split(std::string(200, 'a') + "\n", fields), -1);
}

TEST_P(CsvKernels, StopToSplitARecordOfTooManyFields) {
  Spans fields;
  EXPECT_GT(split(std::string(10000, ','), fields, ',', false, true, 3), 3);
  EXPECT_THAT(fields, ElementsAre("", "", ""));
  EXPECT_EQ(split(std::string(2, ','), fields, ',', false, true, 3), 3);
}

TEST_P(CsvKernels, SplitAsAPlainLoopDoes) {
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    const bool merge = round % 2;
    const auto record = random_text(random, round % 3 ? "abcdef," : "a,,", random() % 300);
    Spans expected(1);
    for (const char c : record)
      if (c == ',')
        expected.emplace_back();
      else
        expected.back() += c;
    if (merge) std::erase(expected, "");
    if (record.empty()) expected.clear();
    Spans fields;
    EXPECT_EQ(split(record, fields, ',', merge), static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(fields, expected);
  }
}

TEST_P(CsvKernels, DecodeSimpleNumbersExactly) {
  EXPECT_THAT(number<std::int32_t>("-2147483648", CsvKind::int32), ElementsAre(-2147483648));
  EXPECT_THAT(number<std::int32_t>("2147483647", CsvKind::int32), ElementsAre(2147483647));
  EXPECT_THAT(number<std::int64_t>("123456789012345", CsvKind::int64),
              ElementsAre(123456789012345));
  EXPECT_THAT(number<std::int64_t>("-007", CsvKind::int64), ElementsAre(-7));
  EXPECT_THAT(number<double>("0.1", CsvKind::float64), ElementsAre(0.1));
  EXPECT_THAT(number<float>("-12.34", CsvKind::float32), ElementsAre(-12.34f));
  EXPECT_TRUE(std::signbit(number<double>("-0", CsvKind::float64).at(0)));
}

TEST_P(CsvKernels, LeaveOtherFieldsToOthers) {
  for (const auto* field : {"", "-", ".", "1.", "+1", " 1", "1 ", "1e5", "0x1", "--1", "1-",
                            "1.2.3", "1234567890123456", "nan", "/", ":"}) {
    EXPECT_THAT(number<float>(field, CsvKind::float32), IsEmpty()) << field;
    EXPECT_THAT(number<double>(field, CsvKind::float64), IsEmpty()) << field;
    EXPECT_THAT(number<std::int64_t>(field, CsvKind::int64), IsEmpty()) << field;
  }
  EXPECT_THAT(number<std::int32_t>("2147483648", CsvKind::int32), IsEmpty());
  EXPECT_THAT(number<std::int32_t>("1.5", CsvKind::int32), IsEmpty());
  EXPECT_THAT(number<std::int64_t>("1", CsvKind::other), IsEmpty());
  EXPECT_THAT(number<float>("16777217", CsvKind::float32), IsEmpty()) << "half-way of two floats";
}

TEST_P(CsvKernels, GiveTheBitsOfStrtod) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20000; ++round) {
    char field[64];
    std::snprintf(field, sizeof field, "%.*f", static_cast<int>(random() % 9),
                  (static_cast<double>(random() % 2000001) - 1e6) / 997);
    for (const double value : number<double>(field, CsvKind::float64))
      EXPECT_EQ(value, std::strtod(field, nullptr)) << field;
    for (const float value : number<float>(field, CsvKind::float32))
      EXPECT_EQ(value, std::strtof(field, nullptr)) << field;
  }
}

}  // namespace
}  // namespace troupe::simd
