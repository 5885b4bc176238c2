#include "troupe/actors/decoders/example_decoder.h"

#include <random>

#include "actors/decoders/listed_source.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "support/reference_file.h"
#include "troupe/actors/decoders/example_builder.h"
#include "troupe/actors/readers/tfrecord_source.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;
using ::testing::StrEq;

const std::string kData = TROUPE_TEST_DATA "/records/";

/// The only run of a file.
RecordRun run_of(const std::string& path) {
  TFRecordSource source({.files = {path}});
  std::vector<RecordRun> runs;
  EXPECT_TRUE(source.read(runs, {.records = 1000}));
  return runs[0];
}

class ExampleDecoderTest : public ::testing::Test {
 protected:
  Element decode(const std::string& message, ExampleDecoderOptions options) {
    test::write_tfrecords(directory / "x", {"", message});
    ExampleDecoder decoder(std::move(options));
    Element element;
    decoder.decode(run_of(directory / "x"), 1, element);
    return element;
  }
  Tensor decode(const std::string& message, const ExampleFeature& feature) {
    return decode(message, ExampleDecoderOptions{{feature}}).at(0);
  }
  Error failure(const std::string& message, const ExampleFeature& feature) {
    return error_of([&] { decode(message, feature); });
  }
  std::string at(const std::string& words) const { return directory / "x:2: " + words; }

  static std::string floats(std::vector<float> values) {
    return ExampleBuilder().floats("f", values).message();
  }
  static std::string ints(std::vector<std::int64_t> values) {
    return ExampleBuilder().ints("f", values).message();
  }
  static std::string bytes(std::vector<std::string> values) {
    return ExampleBuilder().bytes("f", values).message();
  }

  test::TemporaryDirectory directory;
};

// ---- against TensorFlow ----------------------------------------------------------------------

/// Strings stand in the reference as their bytes.
Tensor comparable(const Tensor& tensor) {
  if (tensor.dtype() != DType::string) return tensor;
  const auto& bytes = tensor.read<std::string>()[0];
  return Tensor::of<std::uint8_t>({static_cast<std::int64_t>(bytes.size())},
                                  std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

TEST(ExampleDecoder, ParsesWhatTensorFlowParses) {
  const std::vector<ExampleFeature> features{
      {"x", DType::float32, {2, 3}},
      {"label", DType::int64, {}, Tensor::scalar<std::int64_t>(-7)},
      {"ids", DType::int64, {Shape::kUnknown}},
      {"name", DType::string},
      {"weight", DType::float32, {1}, Tensor::of<float>({1}, {1.5f})},
      {"pixels", DType::uint8, {4}, {}, true},
      {"rows", DType::float32, {Shape::kUnknown, 3}},
  };
  ExampleDecoder decoder({features});
  const auto run = run_of(kData + "examples.tfrecord");
  const auto cases = test::read_references(kData + "examples.txt");
  ASSERT_EQ(run.count(), cases.size());
  for (std::size_t i = 0; i < run.count(); ++i) {
    Element element;
    decoder.decode(run, i, element);
    ASSERT_EQ(element.size(), features.size());
    for (std::size_t f = 0; f < features.size(); ++f)
      EXPECT_TRUE(same_bits(comparable(element[f]), cases[i].tensor(features[f].name)))
          << cases[i].name << " " << features[f].name << ": " << element[f];
  }
}

TEST(ExampleDecoder, ParsesTheSequencesThatTensorFlowParses) {
  ExampleDecoder decoder(
      {{{"length", DType::int64}}, {{"words", DType::int64}, {"vectors", DType::float32, {2}}}});
  EXPECT_EQ(decoder.components()[2].spec.shape, Shape({Shape::kUnknown, 2}));
  const auto run = run_of(kData + "sequences.tfrecord");
  const auto cases = test::read_references(kData + "sequences.txt");
  ASSERT_EQ(run.count(), cases.size());
  for (std::size_t i = 0; i < run.count(); ++i) {
    Element element;
    decoder.decode(run, i, element);
    std::size_t f = 0;
    for (const auto* name : {"length", "words", "vectors"})
      EXPECT_TRUE(same_bits(element[f++], cases[i].tensor(name))) << cases[i].name << " " << name;
  }
}

// ---- features --------------------------------------------------------------------------------

TEST_F(ExampleDecoderTest, ReadsWhatTheBuilderWrites) {
  const std::vector<std::int64_t> numbers{0, -1, 300, std::numeric_limits<std::int64_t>::min()};
  EXPECT_EQ(decode(ints(numbers), {"f", DType::int64, {2, 2}}),
            Tensor::of<std::int64_t>({2, 2}, numbers));
  EXPECT_EQ(decode(floats({1.5f, -2}), {"f", DType::float32, {2}}),
            Tensor::of<float>({2}, {1.5f, -2}));
  EXPECT_EQ(decode(bytes({"a", "", std::string(1000, 'x')}), {"f", DType::string, {-1}}),
            Tensor::of<std::string>({3}, {"a", "", std::string(1000, 'x')}));
}

TEST_F(ExampleDecoderTest, GivesVariableFeaturesTheirRows) {
  EXPECT_EQ(decode(ints({1, 2, 3, 4}), {"f", DType::int64, {-1, 2}}),
            Tensor::of<std::int64_t>({2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(decode(ints({}), {"f", DType::int64, {-1, 2}}), Tensor(DType::int64, {0, 2}));
  EXPECT_EQ(decode("", {"f", DType::string, {-1}}), Tensor(DType::string, {0}));
  EXPECT_THAT(failure(ints({1, 2, 3}), {"f", DType::int64, {-1, 2}}),
              IsError(Code::invalid_argument,
                      StrEq(at("feature 'f' has 3 values, but shape [?, 2] needs whole rows"))));
}

TEST_F(ExampleDecoderTest, NamesWhatIsMissingOrDoesNotFit) {
  EXPECT_THAT(failure(ints({1}), {"label", DType::int64}),
              IsError(Code::invalid_argument, HasSubstr(at("feature 'label' is missing"))));
  EXPECT_THAT(failure(floats({1}), {"f", DType::int64}),
              IsError(Code::invalid_argument,
                      StrEq(at("feature 'f' is a list of floats, but int64 is wanted"))));
  EXPECT_THAT(failure(floats({1}), {"f", DType::float32, {2, 2}}),
              IsError(Code::invalid_argument,
                      StrEq(at("feature 'f' has 1 value, but shape [2, 2] needs 4"))));
}

TEST_F(ExampleDecoderTest, ReadsRawBytesAsNumbers) {
  using namespace std::string_literals;
  EXPECT_EQ(decode(bytes({"\x01\x00\xff\xff"s}), {"f", DType::int16, {2}, {}, true}),
            Tensor::of<std::int16_t>({2}, {1, -1}));
  EXPECT_EQ(decode(bytes({"abcd"}), {"f", DType::uint8, {-1, 2}, {}, true}).shape(), Shape({2, 2}));
  EXPECT_THAT(failure(bytes({"abc"}), {"f", DType::int16, {2}, {}, true}),
              IsError(Code::invalid_argument, HasSubstr("no whole values of int16")));
  EXPECT_THAT(failure(bytes({"a", "b"}), {"f", DType::uint8, {2}, {}, true}),
              IsError(Code::invalid_argument, HasSubstr("has 2 strings, but raw bytes are one")));
}

TEST_F(ExampleDecoderTest, TakesTheLastOfWhatStandsThereTwice) {
  EXPECT_EQ(decode(ints({1}) + ints({2}), {"f", DType::int64}), Tensor::scalar<std::int64_t>(2));
}

TEST_F(ExampleDecoderTest, JoinsListsThatComeInParts) {
  // feature { int64_list { value: [1] } int64_list { value: 2 } }, the second not packed
  const std::string feature("\x1a\x03\x0a\x01\x01\x1a\x02\x08\x02", 9);
  const std::string entry = std::string(
                                "\x0a\x01"
                                "f\x12\x09") +
                            feature;
  const std::string features = "\x0a" + std::string(1, static_cast<char>(entry.size())) + entry;
  const std::string example =
      "\x0a" + std::string(1, static_cast<char>(features.size())) + features;
  EXPECT_EQ(decode(example, {"f", DType::int64, {-1}}), Tensor::of<std::int64_t>({2}, {1, 2}));
}

TEST_F(ExampleDecoderTest, NamesARecordThatIsNoExample) {
  EXPECT_THAT(
      failure("\x0a\x7fshort", {"f", DType::int64}),
      IsError(Code::data_loss, HasSubstr(at("the message is damaged, or the record is no"))));
  auto example = ints({1, 2, 3});
  example[example.size() - 1] = '\x80';  // the last number does not end
  EXPECT_THAT(failure(example, {"f", DType::int64, {3}}),
              IsError(Code::invalid_argument, HasSubstr("feature 'f' has 2 values")));
  EXPECT_THAT(failure(example, {"f", DType::int64, {-1}}),
              IsError(Code::data_loss, HasSubstr(at("feature 'f' is damaged"))));
}

TEST_F(ExampleDecoderTest, SurvivesAnyBytes) {
  std::mt19937 random(23);
  const auto good = test::read_file(kData + "sequences.tfrecord").substr(12, 100);
  const std::vector<ExampleFeature> features{{"length", DType::int64, {Shape::kUnknown}},
                                             {"f", DType::string, {Shape::kUnknown}}};
  const std::vector<ExampleFeature> steps{{"words", DType::int64},
                                          {"vectors", DType::float32, {2}}};
  for (int round = 0; round < 3000; ++round) {
    auto bytes = good;
    if (round % 3 == 0) bytes.resize(random() % good.size());
    if (round % 3 == 1)
      for (auto& c : bytes) c = static_cast<char>(random());
    for (int flips = 0; flips < 4 && !bytes.empty(); ++flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(random());
    test::ListedSource source({bytes});
    std::vector<RecordRun> runs;
    source.read(runs, {});
    for (const bool sequence : {true, false}) {
      ExampleDecoder decoder({features, sequence ? steps : std::vector<ExampleFeature>()});
      Element element;
      try {
        decoder.decode(runs[0], 0, element);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("list:1: "));
      }
    }
  }
}

TEST(ExampleDecoder, RefusesFeaturesThatCannotBe) {
  const auto refused = [](const ExampleFeature& feature) {
    return error_of([&] { ExampleDecoder decoder({{feature}}); });
  };
  EXPECT_THAT(refused({"", DType::int64}),
              IsError(Code::invalid_argument, HasSubstr("needs a name")));
  EXPECT_THAT(refused({"f", DType::int32}),
              IsError(Code::invalid_argument, HasSubstr("feature 'f' cannot be int32")));
  EXPECT_THAT(refused({"f", DType::string, {}, {}, true}),
              IsError(Code::invalid_argument, HasSubstr("cannot be string")));
  EXPECT_THAT(refused({"f", DType::int64, {2, -1}}),
              IsError(Code::invalid_argument, HasSubstr("only the first extent may be unknown")));
  EXPECT_THAT(refused({"f", DType::int64, {2}, Tensor::scalar<std::int64_t>(1)}),
              IsError(Code::invalid_argument, HasSubstr("but its default is int64 []")));
  EXPECT_THAT(error_of([] {
                ExampleDecoder({{{"f"}, {"f"}}});
              }),
              IsError(Code::invalid_argument, HasSubstr("'f' is wanted twice")));
  EXPECT_THROW(ExampleDecoder({}), Error);
}

}  // namespace
}  // namespace troupe
