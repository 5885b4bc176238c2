#include "troupe/actors/decoders/csv_decoder.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "actors/decoders/decode_csv.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/decoders/tuple_decoder.h"

namespace troupe {
namespace {

using test::csv_fields;
using test::csv_run;
using test::decode_csv;
using test::error_of;
using test::IsError;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::StrEq;

Error failure(std::string_view record, std::vector<CsvComponent> columns,
              CsvDecoderOptions options = {}) {
  return error_of([&] { decode_csv(record, std::move(columns), std::move(options)); });
}

ElementBlock decode_all(const std::vector<std::string>& records,
                        std::vector<CsvComponent> components,
                        std::shared_ptr<BadRecords> bad = nullptr) {
  TupleDecoder tuple({std::make_shared<CsvDecoder>(std::move(components))}, std::move(bad));
  return tuple.decode({.sequence = 0, .streams = {csv_run(records)}});
}

// ---- columns ---------------------------------------------------------------------------------

TEST(CsvDecoder, MakesAScalarOfEachColumn) {
  const auto element = decode_csv(
      "1.5,-2.5,3,4000000000,five,TRUE,red",
      {csv::required<float>("f"), csv::required<double>("d"), csv::required<std::int32_t>("i"),
       csv::required<std::int64_t>("l"), csv::required<std::string>("s"), csv::required<bool>("b"),
       csv::category("c", {"green", "red"})});
  ASSERT_EQ(element.size(), 7u);
  EXPECT_EQ(element[0], Tensor::scalar(1.5f));
  EXPECT_EQ(element[1], Tensor::scalar(-2.5));
  EXPECT_EQ(element[2], Tensor::scalar(std::int32_t{3}));
  EXPECT_EQ(element[3], Tensor::scalar(std::int64_t{4000000000}));
  EXPECT_EQ(element[4], Tensor::scalar(std::string("five")));
  EXPECT_EQ(element[5], Tensor::scalar(true));
  EXPECT_EQ(element[6], Tensor::scalar(std::int64_t{1}));
}

TEST(CsvDecoder, StacksColumnsToOneVector) {
  const std::vector<CsvComponent> components = {
      csv::stack("x", {csv::required<float>("x1"), csv::with_default("x2", -1.0f)}),
      csv::required<std::int32_t>("label"),
      csv::stack("words", {csv::required<std::string>("w1"), csv::required<std::string>("w2")})};
  const auto element = decode_csv("0.5,,7,a,\"b \"\"c\"\"\"", components);
  EXPECT_EQ(element[0], Tensor::of<float>({2}, {0.5f, -1}));
  EXPECT_EQ(element[1], Tensor::scalar(std::int32_t{7}));
  EXPECT_EQ(element[2], Tensor::of<std::string>({2}, {"a", "b \"c\""}));
  const auto made = CsvDecoder(components).components();
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0].name, "x");
  EXPECT_EQ(made[0].spec.shape, Shape{2});
  EXPECT_EQ(made[1].spec.shape, Shape{});
  EXPECT_EQ(made[2].spec.dtype, DType::string);
}

TEST(CsvDecoder, StacksManyColumnsThatAreAlike) {
  EXPECT_EQ(decode_csv("1,2,3", {csv::stack_of<float>("x", 3)})[0],
            Tensor::of<float>({3}, {1, 2, 3}));
}

TEST(CsvDecoder, KnowsTrueAndFalse) {
  const std::vector<CsvComponent> column = {csv::required<bool>("b")};
  for (const auto* field : {"true", "True", " TRUE ", "1"})
    EXPECT_EQ(decode_csv(field, column)[0], Tensor::scalar(true)) << field;
  for (const auto* field : {"false", "False", "0", "FALSE"})
    EXPECT_EQ(decode_csv(field, column)[0], Tensor::scalar(false)) << field;
  for (const auto* field : {"yes", "2", "t", "tru", "truee"})
    EXPECT_THAT(failure(field, column).what(), HasSubstr("is not a valid bool (true, false"));
}

TEST(CsvDecoder, GivesStringsTheirPlaceInAVocabulary) {
  const auto id = [](std::string_view field, const CsvColumn& column) {
    return decode_csv(field, {column})[0].item();
  };
  const std::vector<std::string> cities = {"Rome", "Paris, Texas"};
  EXPECT_EQ(id("Rome", csv::category("city", cities)), 0);
  EXPECT_EQ(id("\"Paris, Texas\"", csv::category("city", cities)), 1);
  EXPECT_THAT(
      failure("rome", {csv::category("city", cities)}).what(),
      StrEq("a.csv:1:1: field 'city' (#0): \"rome\" is not in the vocabulary of 2 strings"));
  EXPECT_EQ(id("Oslo", csv::category("city", cities, csv::unknown_id(-1))), -1);
  EXPECT_EQ(id("foobar", csv::category("city", cities, csv::hash_unknown(1000))),
            2 + 0x85944171f73967e8 % 1000);
  EXPECT_EQ(id("foobar", csv::hashed("city", 10)), 0x85944171f73967e8 % 10);
  EXPECT_THAT(failure(",", {csv::category("a", cities), csv::hashed("b", 2)}).what(),
              HasSubstr("'a' (#0) is required but missing"));
  EXPECT_EQ(
      decode_csv(",x", {csv::category("city", cities).or_id(7), csv::hashed("b", 1)})[0].item(), 7);
}

TEST(CsvDecoder, HashesWithFnv1a) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8);
}

TEST(CsvDecoder, FindsColumnsByTheirNames) {
  const CsvDecoderOptions options{.header = {"id", "price", "city", "note"}};
  const std::vector<CsvComponent> columns = {csv::required<std::string>("city"),
                                             csv::required<float>("price")};
  const auto element = decode_csv("1,2.5,Rome,x", columns, options);
  EXPECT_EQ(element[0], Tensor::scalar(std::string("Rome")));
  EXPECT_EQ(element[1], Tensor::scalar(2.5f));
  EXPECT_THAT(failure("1,2.5,Rome,x,y", columns, options).what(),
              StrEq("a.csv:1:14: got 5 fields, expected 4"))
      << "a cell with a comma that nobody quoted";
  EXPECT_THAT(failure("1,2.5,Rome,x\"", columns, options).what(),
              StartsWith("a.csv:1:12: field 'note' (#3): unquoted fields"));
  EXPECT_THAT(failure("", {csv::required<float>("prize")}, options).what(),
              StrEq("no column is called \"prize\", the header has \"id\", \"price\", \"city\", "
                    "\"note\""));
}

TEST(CsvDecoder, RefusesNamesThatAreTwiceInAHeader) {
  const std::vector<CsvComponent> y = {csv::required<float>("y")};
  EXPECT_THAT(failure("", y, {.header = {"y", "x", "a", "x"}}).what(),
              StrEq("the header has \"x\" twice, as columns #1 and #3: find columns by position "
                    "(CsvDecoderOptions::select_cols), not by name"));
  EXPECT_THAT(failure("", y, {.header = {"y", "y"}}).what(), HasSubstr("as columns #0 and #1"));
  EXPECT_THAT(failure("", {csv::required<float>("")}, {.header = {"", "x", ""}}).what(),
              HasSubstr("the header has \"\" twice, as columns #0 and #2"));
  EXPECT_EQ(decode_csv("1,2,3", y, {.header = {"", "y", ""}})[0], Tensor::scalar(2.0f))
      << "columns without a name may be several when nobody asks for one";
}

// ---- floats that are not finite --------------------------------------------------------------

TEST(CsvDecoder, TakesFloatsThatAreNotFiniteUnlessItIsToldNotTo) {
  for (const auto* text : {"nan", "NaN", "inf", "-Inf", "+inf", "1e999", "\"inf\"", " inf "}) {
    const auto record = text + std::string(",7");
    EXPECT_FALSE(std::isfinite(
        decode_csv(record, {csv::required<double>("x"), csv::required<float>("y")})[0].item()))
        << text;
    for (const auto& column :
         {csv::required<float>("x"), csv::required<double>("x"), csv::with_default("x", 1.0)})
      EXPECT_THAT(failure(record, {csv::finite(column), csv::required<float>("y")}),
                  IsError(Code::invalid_argument, HasSubstr("is not a finite float")))
          << text;
  }
}

TEST(CsvDecoder, SaysWhereAFloatIsNotFinite) {
  const std::vector<CsvComponent> columns = {
      csv::stack("x", {csv::required<float>("a"), csv::finite(csv::required<float>("b")),
                       csv::finite(csv::required<float>("c"))})};
  CsvDecoder decoder(columns);
  std::vector<Element> elements(4);
  std::vector<std::string> refused;
  decoder.decode_run(csv_run({"nan,1,2", "1,inf,2", "1,2,nan", "1,2,1e39"}), elements,
                     [&](std::size_t, const Error& error) { refused.push_back(error.what()); });
  EXPECT_THAT(refused, ElementsAre("a.csv:2:3: field 'b' (#1): \"inf\" is not a finite float32",
                                   "a.csv:3:5: field 'c' (#2): \"nan\" is not a finite float32",
                                   "a.csv:4:5: field 'c' (#2): \"1e39\" is not a finite float32"));
}

TEST(CsvDecoder, TakesWhatIsFiniteAsEver) {
  const auto column = csv::finite(csv::required<float>("x"));
  for (const auto* text : {"0", "-1.5", "3.4028235e38", "1e-999", "0x1F", "12345678901234567890"})
    EXPECT_EQ(decode_csv(text, {column})[0], decode_csv(text, {csv::required<float>("x")})[0]);
  constexpr auto kNan = std::numeric_limits<float>::quiet_NaN();
  const auto missing = csv::finite(csv::with_default("x", kNan));
  EXPECT_TRUE(std::isnan(decode_csv(",1", {missing, csv::required<float>("y")})[0].item()))
      << "a default is as it was asked for";
  EXPECT_THAT(failure("x", {csv::finite(csv::required<std::int32_t>("n"))}),
              IsError(Code::invalid_argument, HasSubstr("column 'n' is int32, which is always")));
}

TEST(CsvDecoder, SelectsColumnsInAnyOrder) {
  EXPECT_THAT(csv_fields("a,b,c", 3, {.select_cols = {2, 0, 2}}), ElementsAre("c", "a", "c"));
}

// ---- modes -----------------------------------------------------------------------------------

TEST(CsvDecoder, MergesDelimitersWhenAsked) {
  const CsvDecoderOptions options{.syntax = {.delimiter = ' ', .merge_delimiters = true}};
  EXPECT_THAT(csv_fields("  a   b c  ", 3, options), ElementsAre("a", "b", "c"));
  EXPECT_THAT(csv_fields(" a  \"b  c\"   d ", 3, options), ElementsAre("a", "b  c", "d"));
  EXPECT_THAT(error_of([&] { csv_fields("a  b ", 3, options); }).what(),
              HasSubstr("got 2 fields, expected 3"));
}

TEST(CsvDecoder, TakesADelimiterBehindTheLastFieldWhenAsked) {
  const CsvDecoderOptions options{.syntax = {.trailing_delimiter = true}};
  EXPECT_THAT(csv_fields("a,b,", 2, options), ElementsAre("a", "b"));
  EXPECT_THAT(csv_fields("a,\"b\",", 2, options), ElementsAre("a", "b"));
  EXPECT_THAT(csv_fields("a,b", 2, options), ElementsAre("a", "b"));
  EXPECT_THAT(csv_fields("a,", 2, options), ElementsAre("a", ""));
  for (const auto* record : {"a,b,,", "a,b,c", "a,b,\"\""})
    EXPECT_THAT(error_of([&] { csv_fields(record, 2, options); }).what(), HasSubstr("expected 2"))
        << record;
}

TEST(CsvDecoder, TakesANumberForTheNaValue) {
  const CsvDecoderOptions options{.na_value = "-999"};
  EXPECT_EQ(decode_csv("-999", {csv::with_default("x", 0.5f)}, options)[0], Tensor::scalar(0.5f));
  EXPECT_EQ(decode_csv("-99", {csv::with_default("x", 0.5f)}, options)[0], Tensor::scalar(-99.0f));
}

// ---- errors ----------------------------------------------------------------------------------

TEST(CsvDecoder, SaysWhichFieldOfWhichLineIsWrong) {
  const std::vector<CsvComponent> columns = {csv::required<std::string>("name"),
                                             csv::required<float>("price")};
  CsvDecoder decoder(columns);
  Element element;
  const auto run = csv_run({"a,1", "\"b\nc\",\"N/A\"", "d,"}, 1532);
  const auto failing = [&](std::size_t i) {
    return error_of([&] { decoder.decode(run, i, element); });
  };
  EXPECT_THAT(failing(1),
              IsError(Code::invalid_argument,
                      StrEq("a.csv:1534:5: field 'price' (#1): \"N/A\" is not a valid float32 (the "
                            "record starts in line 1533)")));
  EXPECT_THAT(failing(2).what(), StrEq("a.csv:1535:3: field 'price' (#1) is required but missing"));
  EXPECT_THAT(failure("a", columns).what(), StrEq("a.csv:1:2: got 1 fields, expected 2"));
  EXPECT_THAT(failure("a,1,2,3", columns).what(), StrEq("a.csv:1:5: got 4 fields, expected 2"));
  EXPECT_THAT(failure("a,1,2,\"", columns).what(),
              StartsWith("a.csv:1:7: field #3: a quoted field has to end"));
}

TEST(CsvDecoder, ShowsLongAndUnprintableFieldsShort) {
  const std::vector<CsvComponent> column = {csv::required<float>("")};
  EXPECT_THAT(
      failure(std::string(1000, 'x'), column).what(),
      StrEq("a.csv:1:1: field #0: \"" + std::string(40, 'x') + "...\" is not a valid float32"));
  EXPECT_THAT(failure(std::string("\0\x01\x7f", 3), column).what(), HasSubstr(R"("\x00\x01\x7f")"));
  EXPECT_THAT(failure("caf\xC3\xA9", column).what(), HasSubstr("\"caf\xC3\xA9\""));
  EXPECT_THAT(failure(std::string(39, 'x') + "\xC3\xA9", column).what(), HasSubstr("x...\""));
}

TEST(CsvDecoder, RefusesColumnsThatMakeNoSense) {
  const auto making = [](std::vector<CsvComponent> columns, CsvDecoderOptions options = {}) {
    return error_of([&] { CsvDecoder(columns, options); });
  };
  const auto x = csv::required<float>("x");
  EXPECT_THAT(making({}), IsError(Code::invalid_argument, HasSubstr("at least one column")));
  EXPECT_THAT(making({CsvColumn{"x", DType::uint8}}).what(), HasSubstr("'x': fields are decoded"));
  EXPECT_THAT(making({CsvColumn{"x", DType::float32, Tensor::scalar(1.0)}}).what(),
              HasSubstr("the default is one float32, but is float64"));
  EXPECT_THAT(making({CsvColumn{"x", DType::float32, Tensor(DType::float32, {2})}}).what(),
              HasSubstr("but is float32 [2]"));
  EXPECT_THAT(making({x}, {.select_cols = {0, 1}}).what(), HasSubstr("2 positions for 1 columns"));
  EXPECT_THAT(making({x}, {.select_cols = {-1}}).what(), HasSubstr("has no field #-1"));
  EXPECT_THAT(making({x}, {.select_cols = {std::int64_t{1} << 40}}).what(), HasSubstr("no field"));
  EXPECT_THAT(making({x}, {.select_cols = {0}, .header = {"x"}}).what(), HasSubstr("not by both"));
  EXPECT_THAT(making({x}, {.syntax = {.delimiter = '"'}}).what(), HasSubstr("cannot stand"));
  EXPECT_THROW(csv::stack("x", {}), Error);
  EXPECT_THROW(csv::stack("x", {x, csv::required<double>("y")}), Error);
  EXPECT_THROW(csv::category("x", {"a", "a"}), Error);
  EXPECT_THROW(csv::hashed("x", 0), Error);
  EXPECT_THROW(x.or_id(1), Error);
}

// ---- runs ------------------------------------------------------------------------------------

TEST(CsvDecoder, DecodesARunAsItsRecordsOneByOne) {
  std::mt19937 random(4);
  const std::vector<std::string> words = {"a", "\"b\"\"c\"", "", "\"d,e\"",
                                          "a long string that is not kept in place"};
  std::vector<std::string> records;
  for (int i = 0; i < 1000; ++i)
    records.push_back(std::to_string(random() % 1000) + "," + words[random() % words.size()] + "," +
                      std::to_string(random()) + ".5," + std::to_string(i));
  const std::vector<CsvComponent> components = {
      csv::required<std::int32_t>("i"), csv::with_default("s", "none"),
      csv::stack("x", {csv::required<double>("d"), csv::required<double>("e")})};
  const auto block = decode_all(records, components);
  ASSERT_EQ(block.elements.size(), 1000u);
  for (std::size_t i = 0; i < records.size(); ++i)
    EXPECT_EQ(block.elements[i], decode_csv(records[i], components));
}

TEST(CsvDecoder, LetsRowsShareMemoryButNotManyLargeOnes) {
  const auto small = decode_all({"1", "2"}, {csv::required<float>("x")}).elements;
  EXPECT_EQ(small[0][0].data() + sizeof(float), small[1][0].data());
  std::string wide = "1";
  for (int i = 1; i < 5000; ++i) wide += ",1";
  const auto large = decode_all({wide, wide}, {csv::stack_of<float>("x", 5000)}).elements;
  EXPECT_TRUE(large[1][0].unique());
}

TEST(CsvDecoder, LeavesBadRecordsOutOfARunAndKeepsThemInAFile) {
  test::TemporaryDirectory directory;
  const auto bad = std::make_shared<BadRecords>(
      BadRecordOptions{.budget = 5, .quarantine = directory / "bad.csv"});
  const auto block = decode_all({"1,a", "x,b", "\"3\nx\",c", "4,\"d\"", "5"},
                                {csv::required<float>("x"), csv::required<std::string>("s")}, bad);
  ASSERT_EQ(block.elements.size(), 2u);
  EXPECT_EQ(block.elements[1][1], Tensor::scalar(std::string("d")));
  EXPECT_THAT(bad->report(), StartsWith("3 bad records were left out, the first: a.csv:2:1: "));
  EXPECT_THAT(test::read_file(directory / "bad.csv"),
              AllOf(HasSubstr("# a.csv:2:1: field 'x' (#0): \"x\" is not a valid float32\nx,b\n"),
                    HasSubstr("\n\"3\nx\",c\n"), HasSubstr("# a.csv:6:2: got 1 fields")));
}

// ---- hostile input ---------------------------------------------------------------------------

TEST(CsvDecoder, SurvivesRandomBytes) {
  std::mt19937 random(11);
  const std::vector<CsvComponent> columns = {
      csv::with_default("f", 0.0f), csv::with_default("s", ""), csv::hashed("h", 7).or_id(0),
      csv::with_default("b", true), csv::with_default("l", std::int64_t{0})};
  for (int round = 0; round < 3000; ++round) {
    std::string junk(random() % 200, '\0');
    for (auto& c : junk)
      c = round % 2 ? static_cast<char>(random()) : "\"\",,\n\r\0 1.e-"[random() % 12];
    CsvDecoderOptions options;
    options.syntax.merge_delimiters = round % 3 == 0;
    options.syntax.trailing_delimiter = round % 5 == 0;
    options.syntax.quotes = round % 7 != 0;
    if (round % 11 == 0) options.select_cols = {4, 0, 3, 1, 2};
    try {
      EXPECT_EQ(decode_csv(junk, columns, options).size(), 5u);
    } catch (const Error& error) {
      EXPECT_THAT(error, IsError(Code::invalid_argument, StartsWith("a.csv:")));
    }
  }
}

TEST(CsvDecoder, SurvivesRecordsOfNothingButOneCharacter) {
  for (const char c : {'"', ',', '\0', '\n', '\r', ' ', '\xFF', '1'})
    for (const std::size_t size : {1, 2, 63, 64, 65, 100001})
      EXPECT_THAT(
          failure(std::string(size, c), {csv::required<float>("x"), csv::required<float>("y")}),
          IsError(Code::invalid_argument, StartsWith("a.csv:")))
          << "byte " << int{c} << ", " << size << " times";
}

}  // namespace
}  // namespace troupe
