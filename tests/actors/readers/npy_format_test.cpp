#include "troupe/actors/readers/npy_format.h"

#include "actors/readers/gzip_file.h"
#include "actors/readers/read_all.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/readers/array_source.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string array(const std::string& name) { return TROUPE_TEST_DATA "/arrays/" + name; }

/// A file of format 1.0 with this description and these bytes behind it.
std::string npy(const std::string& description, const std::string& values = "") {
  std::string bytes = "\x93NUMPY\x01";
  bytes += '\0';
  bytes += static_cast<char>(description.size() & 0xFF);
  bytes += static_cast<char>(description.size() >> 8);
  return bytes + description + values;
}

class NpyFormatTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& bytes) {
    test::write_file(directory / name, bytes);
    return directory / name;
  }
  Error opening(const std::string& bytes) {
    return error_of([&] { ArraySource({.files = {file("x.npy", bytes)}}, npy_format()); });
  }
  static Error reading(const std::string& name) {
    return error_of([&] { ArraySource({.files = {array(name)}}, npy_format()); });
  }
  test::TemporaryDirectory directory;
};

TEST_F(NpyFormatTest, GivesTheRowsAlongTheFirstAxis) {
  ArraySource source({.files = {array("float32.npy")}}, npy_format());
  EXPECT_EQ(source.header().dtype, DType::float32);
  EXPECT_EQ(source.header().count, 5);
  EXPECT_EQ(source.header().item, Shape({2, 3}));
  const auto rows = test::read_all(source, {.records = 2});
  ASSERT_EQ(rows.size(), 5u);
  float value = 0;
  std::memcpy(&value, &rows[4][20], sizeof(value));
  EXPECT_EQ(value, 29 - 10);
}

TEST_F(NpyFormatTest, GivesTheSameBytesWhateverTheirOrderInTheFile) {
  for (const std::string name : {"float32", "float64", "int16", "int64"}) {
    ArraySource little({.files = {array(name + ".npy")}}, npy_format());
    ArraySource big({.files = {array(name + "_big.npy")}}, npy_format());
    EXPECT_FALSE(little.header().big_endian);
    EXPECT_TRUE(big.header().big_endian);
    EXPECT_EQ(test::read_all(little), test::read_all(big)) << name;
  }
}

TEST_F(NpyFormatTest, ReadsTheNewerFormats) {
  ArraySource one({.files = {array("float32.npy")}}, npy_format());
  const auto rows = test::read_all(one);
  for (const auto* name : {"version2.npy", "version3.npy"}) {
    ArraySource other({.files = {array(name)}}, npy_format());
    EXPECT_EQ(test::read_all(other), rows) << name;
  }
}

TEST_F(NpyFormatTest, ReadsFilesOneAfterTheOther) {
  ArraySource source({.files = {array("vector.npy"), array("vector.npy")}}, npy_format());
  EXPECT_EQ(source.header().count, 18);
  EXPECT_EQ(test::read_all(source).size(), 18u);
  source.restart({});
  const auto places = test::read_places(source);
  EXPECT_EQ(places.front(), array("vector.npy:1"));
  EXPECT_EQ(places.back(), array("vector.npy:9"));
}

TEST_F(NpyFormatTest, ReadsAnArrayOfAnNpzFileStoredOrDeflated) {
  std::string images;
  for (char i = 0; i < 48; ++i) images += i;
  for (const auto* name : {"stored.npz", "deflated.npz"}) {
    ArraySource source({.files = {array(name)}}, npy_format("images"));
    EXPECT_EQ(source.header().item, Shape({2, 2}));
    std::string all;
    for (const auto& row : test::read_all(source, {.records = 5})) all += row;
    EXPECT_EQ(all, images) << name;
    source.restart({});
    EXPECT_EQ(test::read_places(source)[2], array(name) + "/images:3");
  }
}

TEST_F(NpyFormatTest, NamesTheArraysThatThereAre) {
  EXPECT_THAT(
      error_of([&] { ArraySource({.files = {array("stored.npz")}}, npy_format("pictures")); }),
      IsError(Code::not_found, HasSubstr("has no member 'pictures.npy'; there are: images.npy, "
                                         "labels.npy, short.npy")));
  EXPECT_THAT(reading("stored.npz"),
              IsError(Code::invalid_argument, HasSubstr("say which one is to be read")));
}

TEST_F(NpyFormatTest, ReadsGzip) {
  test::write_gzip(directory / "x.npy.gz", test::read_file(array("vector.npy")));
  ArraySource source({.files = {directory / "x.npy.gz"}}, npy_format());
  EXPECT_EQ(test::read_all(source).size(), 9u);
}

TEST_F(NpyFormatTest, SaysWhatToDoAboutArraysThatItCannotRead) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"fortran.npy", "save it in C order: numpy.save(file, numpy.ascontiguousarray(array))"},
      {"scalar.npy", "the array is one value; records are items along a first axis"},
      {"complex.npy", "no dtype of Troupe is '<c8'; save it as one that is: array.astype("},
      {"uint16.npy", "no dtype of Troupe is '<u2'"},
      {"text.npy", "no dtype of Troupe is '<U2'"},
      {"fields.npy", "save each field as an array of its own"},
      {"objects.npy", "never run here; save numbers"},
      {"no_values.npy", "hold no value"},
  };
  for (const auto& [name, words] : cases)
    EXPECT_THAT(reading(name), IsError(Code::invalid_argument, HasSubstr(words))) << name;
}

TEST_F(NpyFormatTest, RefusesToFindNothing) {
  ArraySource source({.files = {array("no_rows.npy")}}, npy_format());
  EXPECT_THAT(error_of([&] { test::read_all(source); }),
              IsError(Code::invalid_argument, HasSubstr("0 records in rows of")));
  ArraySource lenient({.files = {array("no_rows.npy")}, .allow_empty = true}, npy_format());
  EXPECT_TRUE(test::read_all(lenient).empty());
}

TEST_F(NpyFormatTest, WantsTheSameRowsInAllFiles) {
  EXPECT_THAT(error_of([&] {
                ArraySource({.files = {array("float32.npy"), array("float64.npy")}}, npy_format());
              }),
              IsError(Code::invalid_argument, HasSubstr("holds items of float64 [2, 3], but ")));
}

TEST_F(NpyFormatTest, ReadsADescriptionHoweverItIsWritten) {
  for (const auto* description :
       {"{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }   \n",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 1L)}",
        R"({"shape":(2,1),"fortran_order":False,"descr":"<i2"})"}) {
    ArraySource source({.files = {file("x.npy", npy(description, "abcd"))}}, npy_format());
    EXPECT_THAT(test::read_all(source), ElementsAre("ab", "cd"));
  }
}

TEST_F(NpyFormatTest, RefusesWhatIsNoDescription) {
  const std::vector<std::string> descriptions = {
      "",
      "{}",
      "{'descr': '<i2'}",
      "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), 'extra': 1}",
      "{'descr': '<i2', 'fortran_order': Maybe, 'shape': (2, 1)}",
      "{'descr': '<i2', 'fortran_order': False, 'shape': (2, -1)}",
      "{'descr': '<i2', 'fortran_order': False, 'shape': (2, x)}",
      "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
      "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1",
      "{'descr': '<i2, 'fortran_order': False, 'shape': (2, 1)}",
      "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1)} and more",
      "[1, 2]",
  };
  for (const auto& description : descriptions)
    EXPECT_THAT(opening(npy(description, "abcd")),
                IsError(Code::data_loss, HasSubstr("of the description of a NumPy array: ")))
        << description;
}

TEST_F(NpyFormatTest, RefusesWhatIsNotFromNumPy) {
  EXPECT_THAT(opening("1 2 3 4 5\n"), IsError(Code::data_loss, HasSubstr("does not start with")));
  EXPECT_THAT(opening(""), IsError(Code::data_loss, HasSubstr("it ends at byte 0, inside")));
  EXPECT_THAT(opening(std::string("\x93NUMPY\x07\x00{}", 10)),
              IsError(Code::data_loss, HasSubstr("NumPy's format 7.0; 1.0 to 3.0")));
  EXPECT_THAT(opening(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12)),
              IsError(Code::data_loss, HasSubstr("a header of 4294967295 bytes")));
}

TEST_F(NpyFormatTest, ComparesTheSizeOfTheFileWithTheDescription) {
  const auto whole = test::read_file(array("float32.npy"));
  for (const auto& bytes : {whole.substr(0, whole.size() - 1), whole + "x"})
    EXPECT_THAT(
        opening(bytes),
        IsError(Code::data_loss, HasSubstr("promises 5 items of float32 [2, 3], which take ")));
}

TEST_F(NpyFormatTest, RefusesAbsurdShapes) {
  const auto shape = [](const std::string& extents) {
    return npy("{'descr': '<f8', 'fortran_order': False, 'shape': (" + extents + ")}");
  };
  EXPECT_THAT(opening(shape("1, 9223372036854775807, 9223372036854775807")),
              IsError(Code::data_loss, HasSubstr("items of more than")));
  EXPECT_THAT(opening(shape("9223372036854775807, 100")),
              IsError(Code::data_loss, HasSubstr("promises 9223372036854775807 items")));
  EXPECT_THAT(opening(shape("1, 1, 1, 1, 1, 1, 1, 1, 1, 1")),
              IsError(Code::invalid_argument, HasSubstr("more than 8 axes")));
}

TEST_F(NpyFormatTest, EndsWellWhateverTheBytes) {
  RandomStream random(1, 2);
  for (const auto* name : {"float32.npy", "stored.npz", "deflated.npz"}) {
    const auto whole = test::read_file(array(name));
    const std::string member = std::string(name).ends_with(".npz") ? "images" : "";
    const auto suffix = member.empty() ? ".npy" : ".npz";
    for (int round = 0; round < 100; ++round) {
      auto bytes = whole;
      if (round % 4 == 0) bytes.resize(random.below(bytes.size()));
      for (int i = 0; i < round % 7 && !bytes.empty(); ++i)
        bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      const auto path = file(std::string("x") + suffix, bytes);
      try {
        ArraySource source({.files = {path}}, npy_format(member));
        test::read_all(source);
      } catch (const Error& error) {
        EXPECT_THAT(std::string(error.what()), HasSubstr(path));
      }
    }
  }
}

}  // namespace
}  // namespace troupe
