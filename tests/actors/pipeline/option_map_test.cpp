#include "troupe/actors/pipeline/option_map.h"

#include "support/error_matcher.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

OptionMap options_with(const std::string& name, const std::string& value) {
  OptionMap options;
  options.set_owner("reader 'mine'");
  options.add(name, value, "x.pbtxt:4:5");
  return options;
}

/// What is said about a value of option 'o' when `get` asks for it.
template <class Get>
std::string complaint(const std::string& value, Get get) {
  const auto options = options_with("o", value);
  const auto error = error_of([&] { get(options); });
  EXPECT_EQ(error.code(), Code::invalid_argument);
  const std::string words = error.what();
  const std::string front = "x.pbtxt:4:5: option 'o' of reader 'mine' ";
  EXPECT_EQ(words.substr(0, front.size()), front);
  return words.substr(front.size());
}

TEST(OptionMap, GivesValuesByType) {
  const OptionMap o{{"text", "abc"},   {"integer", "-12"}, {"number", "2.5e-3"},
                    {"flag", "true"},  {"tab", "tab"},     {"semicolon", ";"},
                    {"shape", "3, 4"}, {"scalar", ""},     {"dtype", "int64"}};
  EXPECT_EQ(o.text("text"), "abc");
  EXPECT_EQ(o.integer("integer", -20, 20), -12);
  EXPECT_EQ(o.number("number", 0), 2.5e-3);
  EXPECT_TRUE(o.flag("flag", false));
  EXPECT_EQ(o.character("tab", ' '), '\t');
  EXPECT_EQ(o.character("semicolon", ' '), ';');
  EXPECT_EQ(o.shape("shape"), Shape({3, 4}));
  EXPECT_EQ(o.shape("scalar"), Shape());
  EXPECT_EQ(o.dtype("dtype", DType::float32), DType::int64);
  o.expect_all_known();
}

TEST(OptionMap, GivesShapesThatVary) {
  const OptionMap o{{"varies", "-1, 4"}, {"fixed", "3"}};
  EXPECT_EQ(o.varying_shape("varies", {}), Shape({Shape::kUnknown, 4}));
  EXPECT_EQ(o.varying_shape("fixed", {}), Shape({3}));
  EXPECT_EQ(o.varying_shape("none", {2}), Shape({2}));
  const auto varying = [](const OptionMap& options) { options.varying_shape("o", {}); };
  EXPECT_EQ(complaint("4,-1", varying), "is -1; it goes from 1 to 1099511627776");
  EXPECT_EQ(complaint("-1", [](const OptionMap& options) { options.shape("o"); }),
            "is -1; it goes from 1 to 1099511627776");
}

TEST(OptionMap, SeesRelativePathsFromItsDirectory) {
  OptionMap o{{"files", "a.txt"}};
  EXPECT_EQ(o.path("b.txt"), "b.txt");
  o.set_directory("data");
  EXPECT_EQ(o.path("b.txt"), "data/b.txt");
  EXPECT_EQ(o.path("/b.txt"), "/b.txt");
  EXPECT_THAT(o.files("files"), ElementsAre("data/a.txt"));
}

TEST(OptionMap, IsMadeForOneOfItsFiles) {
  OptionMap o{{"files", "*.txt"}, {"array", "x"}};
  o.set_directory("data");
  const auto one = o.of_file("data/a.txt");
  EXPECT_THAT(one.files("files"), ElementsAre("data/a.txt"));
  EXPECT_EQ(one.text("array"), "x");
  one.expect_all_known();  // also when nobody knows allow_empty
  EXPECT_TRUE(one.flag("allow_empty", false));
}

TEST(OptionMap, FallsBackWhenAnOptionIsNotGiven) {
  const OptionMap o;
  EXPECT_FALSE(o.has("x"));
  EXPECT_EQ(o.text("x", "y"), "y");
  EXPECT_EQ(o.integer("x", 3, 0, 9), 3);
  EXPECT_EQ(o.number("x", 0.5), 0.5);
  EXPECT_EQ(o.character("x", ','), ',');
  EXPECT_EQ(o.shape("x", Shape({2})), Shape({2}));
  EXPECT_TRUE(o.list("x").empty());
}

TEST(OptionMap, SaysWhichOptionIsNeeded) {
  OptionMap o;
  o.set_owner("reader 'mine'");
  const auto needs = IsError(Code::invalid_argument,
                             "reader 'mine' needs the option "
                             "'files'");
  EXPECT_THAT(error_of([&] { (void)o.text("files"); }), needs);
  EXPECT_THAT(error_of([&] { (void)o.files("files"); }), needs);
}

TEST(OptionMap, KeepsAllValuesOfAnOption) {
  OptionMap o;
  o.add("files", "a");
  o.add("files", "b");
  EXPECT_THAT(o.list("files"), ElementsAre("a", "b"));
  EXPECT_THAT(error_of([&] { (void)o.text("files"); }),
              IsError(Code::invalid_argument, HasSubstr("is given 2 times; it has one value")));
}

TEST(OptionMap, LooksForFilesInItsDirectory) {
  OptionMap o{{"files", "a.txt"}};
  o.add("files", "/data/b.txt");
  EXPECT_THAT(o.files("files"), ElementsAre("a.txt", "/data/b.txt"));
  o.set_directory("here/there");
  EXPECT_THAT(o.files("files"), ElementsAre("here/there/a.txt", "/data/b.txt"));
}

TEST(OptionMap, SaysWhatAValueIsNot) {
  const auto integer = [](const OptionMap& o) { (void)o.integer("o", 1, 9); };
  EXPECT_EQ(complaint("x", integer), "is \"x\", which is not a whole number");
  EXPECT_EQ(complaint("1.5", integer), "is \"1.5\", which is not a whole number");
  EXPECT_EQ(complaint("", integer), "is \"\", which is not a whole number");
  EXPECT_EQ(complaint("99999999999999999999", integer),
            "is \"99999999999999999999\", which is not a whole number");
  EXPECT_EQ(complaint("10", integer), "is 10; it goes from 1 to 9");
  EXPECT_EQ(complaint("nan", [](const OptionMap& o) { (void)o.number("o", 0); }),
            "is \"nan\", which is not a number");
  EXPECT_EQ(complaint("yes", [](const OptionMap& o) { (void)o.flag("o", false); }),
            "is \"yes\", which is neither true nor false");
  EXPECT_EQ(complaint("ab", [](const OptionMap& o) { (void)o.character("o", ' '); }),
            "is \"ab\"; it is one character, or space, tab or comma");
  EXPECT_THAT(complaint("half", [](const OptionMap& o) { (void)o.dtype("o", DType::int8); }),
              HasSubstr("is no dtype: no dtype is called 'half'; there are: float32"));
}

TEST(OptionMap, SaysWhatAShapeIsNot) {
  const auto shape = [](const OptionMap& o) { (void)o.shape("o"); };
  EXPECT_EQ(complaint("3,x", shape), "is \"x\", which is not a whole number");
  EXPECT_EQ(complaint("3,", shape), "is \"3,\", which ends with a comma");
  EXPECT_EQ(complaint("0", shape), "is 0; it goes from 1 to 1099511627776");
  EXPECT_EQ(complaint("1,1,1,1,1,1,1,1,1", shape), "has 9 axes; at most 8 are possible");
  EXPECT_THAT(complaint("1000000000000,1000000000000", shape), HasSubstr("is too large: "));
}

TEST(OptionMap, KnowsTheOptionsThatSomebodyAskedFor) {
  const auto o = options_with("fiels", "a.txt");
  (void)o.list("files");
  (void)o.flag("quick", false);
  EXPECT_THAT(error_of([&] { o.expect_all_known(); }),
              IsError(Code::invalid_argument,
                      "x.pbtxt:4:5: reader 'mine' has no option 'fiels'; "
                      "there are: files, quick"));
  EXPECT_THAT(error_of([] { options_with("a", "b").expect_all_known(); }),
              IsError(Code::invalid_argument, HasSubstr("has no option 'a'; it has none")));
}

}  // namespace
}  // namespace troupe
