#include "troupe/actors/decoders/libsvm_decoder.h"

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/pipeline/arrays.h"
#include "troupe/actors/pipeline/libsvm.h"
#include "troupe/actors/readers/data_line_source.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;

/// All elements of a file.
std::vector<Element> decode(const std::string& path, const LibsvmDecoderOptions& options) {
  const auto records = read_libsvm({path});
  const auto source = records.open();
  LibsvmDecoder decoder(options);
  std::vector<Element> elements;
  std::vector<RecordRun> runs;
  while (source->read(runs, {}))
    for (std::size_t i = 0; i < runs[0].count(); ++i)
      decoder.decode(runs[0], i, elements.emplace_back());
  return elements;
}

class LibsvmDecoderTest : public ::testing::Test {
 protected:
  std::vector<Element> decode_text(const std::string& text, const LibsvmDecoderOptions& options) {
    test::write_file(directory / "x.txt", text);
    return decode(directory / "x.txt", options);
  }
  /// What is wrong with a line, without the name of the file.
  std::string complaint(const std::string& line, LibsvmDecoderOptions options = {}) {
    if (options.features == 0 && !options.sparse) options.features = 9;
    const auto error = error_of([&] { decode_text("1 1:1\n" + line + "\n", options); });
    EXPECT_EQ(error.code(), Code::invalid_argument);
    const std::string words = error.what();
    const auto file = directory / "x.txt";
    EXPECT_EQ(words.substr(0, file.size()), file);
    return words.substr(file.size());
  }
  test::TemporaryDirectory directory;
};

/// Rows of an array that scikit-learn has read from the same file.
std::vector<Tensor> reference(const std::string& name) {
  ArraySource source({.files = {TROUPE_TEST_DATA "/libsvm/" + name + ".npy"}}, npy_format());
  ArrayDecoder decoder(source.header(), {});
  std::vector<Tensor> rows;
  std::vector<RecordRun> runs;
  while (source.read(runs, {}))
    for (std::size_t i = 0; i < runs[0].count(); ++i) decoder.decode(runs[0], i, rows);
  return rows;
}

TEST_F(LibsvmDecoderTest, ReadsWhatScikitLearnReads) {
  for (const std::string name : {"examples", "by_hand"}) {
    const auto features = reference(name + "_features");
    const auto labels = reference(name + "_labels");
    const auto elements =
        decode(TROUPE_TEST_DATA "/libsvm/" + name + ".txt", {.features = features[0].shape()[0]});
    ASSERT_EQ(elements.size(), features.size()) << name;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      EXPECT_EQ(elements[i][0], features[i]) << name << ' ' << i;
      EXPECT_EQ(elements[i][1], labels[i]) << name << ' ' << i;
    }
  }
}

TEST_F(LibsvmDecoderTest, GivesIndicesAndValues) {
  const auto elements = decode_text("-1 1:0.5 7:2 # words\n1\n", {.sparse = true});
  ASSERT_EQ(elements.size(), 2u);
  EXPECT_EQ(elements[0][0], Tensor::of<std::int64_t>({2}, {0, 6}));
  EXPECT_EQ(elements[0][1], Tensor::of<float>({2}, {0.5f, 2}));
  EXPECT_EQ(elements[0][2], Tensor::scalar<float>(-1));
  EXPECT_EQ(elements[1][0].shape(), Shape({0}));
}

TEST_F(LibsvmDecoderTest, CountsFeaturesFromZeroWhenAsked) {
  const auto elements = decode_text("1 0:3 2:5\n", {.features = 3, .zero_based = true});
  EXPECT_EQ(elements[0][0], Tensor::of<float>({3}, {3, 0, 5}));
  EXPECT_EQ(complaint("1 0:3"),
            ":2:3: index 0 is not one from 1 to 9 (LibsvmDecoderOptions::zero_based, features)");
}

TEST_F(LibsvmDecoderTest, MakesLabelsIntegersWhenAsked) {
  const auto elements = decode_text("+7 1:1\n-2\n", {.features = 1, .label = DType::int64});
  EXPECT_EQ(elements[0][1], Tensor::scalar<std::int64_t>(7));
  EXPECT_EQ(elements[1][1], Tensor::scalar<std::int64_t>(-2));
  EXPECT_EQ(complaint("1.5 1:1", {.label = DType::int64}),
            ":2:1: the label \"1.5\" is not an int64");
}

TEST_F(LibsvmDecoderTest, LeavesOutQueriesWhenAsked) {
  const auto elements = decode_text("1 qid:3 1:2\n", {.features = 1, .ignore_query_id = true});
  EXPECT_EQ(elements[0][0], Tensor::of<float>({1}, {2}));
  EXPECT_THAT(complaint("1 qid:3 1:2"),
              HasSubstr(":2:3: \"qid:3\" is a query, which has no place"));
}

TEST_F(LibsvmDecoderTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(complaint("1:2 2:3"), ":2:1: the label is missing in front of \"1:2\"");
  EXPECT_EQ(complaint("1,2 1:3"), ":2:1: \"1,2\" are several labels; one can be decoded");
  EXPECT_EQ(complaint("yes 1:3"), ":2:1: the label \"yes\" is not a number");
  EXPECT_EQ(complaint("1 1:2  3"), ":2:8: \"3\" is not index:value");
  EXPECT_EQ(complaint("1 x:2"), ":2:3: \"x\" is not an index");
  EXPECT_EQ(complaint("1 1.5:2"), ":2:3: \"1.5\" is not an index");
  EXPECT_EQ(complaint("1 99999999999999999999:2"),
            ":2:3: \"99999999999999999999\" is not an index");
  EXPECT_EQ(complaint("1 1:"), ":2:5: \"\" is not a value");
  EXPECT_EQ(complaint("1 1:2:3"), ":2:5: \"2:3\" is not a value");
  EXPECT_EQ(complaint("1 \t1:x"), ":2:6: \"x\" is not a value");
  EXPECT_THAT(complaint("1 10:2"), HasSubstr(":2:3: index 10 is not one from 1 to 9"));
  EXPECT_THAT(complaint("1 -1:2"), HasSubstr(":2:3: index -1 is not one from 1 to 9"));
  EXPECT_EQ(complaint("1 3:2 3:4"),
            ":2:7: index 3 stands behind 3; indices must grow from left to right");
  EXPECT_EQ(complaint("1 3:2 2:4"),
            ":2:7: index 2 stands behind 3; indices must grow from left to right");
}

TEST_F(LibsvmDecoderTest, RefusesWhatTrainingCannotUse) {
  EXPECT_EQ(complaint("1 1:nan"), ":2:5: \"nan\" is nan in float32, which training cannot use");
  EXPECT_EQ(complaint("1 1:1e40"), ":2:5: \"1e40\" is inf in float32, which training cannot use");
  EXPECT_EQ(complaint("-inf 1:1"), ":2:1: \"-inf\" is -inf in float32, which training cannot use");
  const auto elements = decode_text("1 1:1e400\n", {.features = 1, .allow_non_finite = true});
  EXPECT_EQ(elements[0][0].at(0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(decode_text("1 1:1e-400\n", {.features = 1})[0][0].at(0), 0);
}

TEST_F(LibsvmDecoderTest, NeedsToKnowHowManyFeaturesThereAre) {
  EXPECT_THAT(error_of([] { LibsvmDecoder({}); }),
              IsError(Code::invalid_argument, HasSubstr("need the number of features")));
  EXPECT_THAT(error_of([] { LibsvmDecoder({.features = std::int64_t{1} << 40}); }),
              IsError(Code::invalid_argument, HasSubstr("larger than 1 GiB; decode them sparse")));
  EXPECT_THAT(error_of([] { LibsvmDecoder({.features = 3, .label = DType::int8}); }),
              IsError(Code::invalid_argument, HasSubstr("to float32 or int64, not to int8")));
}

TEST_F(LibsvmDecoderTest, EndsWellWhateverTheLine) {
  RandomStream random(3, 4);
  const std::string letters = "0123456789:.,-+e# \tnaifqd";
  for (int round = 0; round < 300; ++round) {
    std::string line = "1 1:2 ";
    for (auto i = random.below(20); i-- > 0;) line += letters[random.below(letters.size())];
    try {
      (void)decode_text(line, {.sparse = true});
    } catch (const Error& error) {
      EXPECT_THAT(std::string(error.what()), HasSubstr("x.txt:1:")) << line;
    }
  }
}

TEST_F(LibsvmDecoderTest, GivesBatchesOfFeaturesAndLabels) {
  const auto batches = read_libsvm({TROUPE_TEST_DATA "/libsvm/by_hand.txt"})
                           .decode({libsvm_dense(9)})
                           .buffer(10)
                           .batch(2, Remainder::keep);
  EXPECT_EQ(batches.components()[0].shape, Shape({9}));
  EXPECT_EQ(batches.components()[1].shape, Shape());
}

}  // namespace
}  // namespace troupe
