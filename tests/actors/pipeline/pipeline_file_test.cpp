#include "troupe/actors/pipeline/pipeline_file.h"

#include <filesystem>
#include <limits>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kFile = R"(# Two streams, side by side.
stream {
  reader { name: "text" option { name: "files" value: "features-*.txt" } }
  decoder { name: "numbers" option { name: "shape" value: "2,1" } }
}
stream {
  reader {
    name: "text"
    option { name: "files" value: ["labels.txt"] }
    option { name: "skip_header_lines" value: "1" }
  }
  decoder {
    name: "numbers"
    option { name: "shape" value: "" }
    option { name: "dtype" value: "int64" }
  }
}
epochs: 2
decoding { decoders: 3 block_records: 2 }
shuffle { capacity: 4 min_after_dequeue: 2 }
batch { rows: 4 remainder: KEEP in_order: true }
)";

class PipelineFileTest : public ::testing::Test {
 protected:
  PipelineFileTest() {
    test::write_file(directory / "features-1.txt", "1 2\n3 4\n");
    test::write_file(directory / "features-2.txt", "5 6\n");
    test::write_file(directory / "labels.txt", "label\n1\n2\n3\n");
  }
  Batches parse(const std::string& text) { return parse_pipeline(text, directory / "x.pbtxt"); }
  /// kFile with a part replaced by another.
  static std::string changed(const std::string& from, const std::string& to) {
    std::string text = kFile;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }
  /// What is wrong with a text, without the name of the file.
  std::string complaint(const std::string& text, Code code = Code::invalid_argument) {
    const auto error = error_of([&] { (void)parse(text); });
    EXPECT_EQ(error.code(), code) << error.what();
    const std::string words = error.what();
    const auto file = directory / "x.pbtxt";
    EXPECT_EQ(words.substr(0, file.size()), file);
    return words.substr(file.size());
  }
  test::TemporaryDirectory directory;
};

TEST_F(PipelineFileTest, DescribesBatches) {
  test::write_file(directory / "x.pbtxt", kFile);
  const auto batches = read_pipeline(directory / "x.pbtxt");
  EXPECT_EQ(batches.rows(), 4);
  EXPECT_EQ(batches.remainder(), Remainder::keep);
  EXPECT_EQ(batches.components()[0].shape, Shape({2, 1}));
  EXPECT_EQ(batches.components()[1].dtype, DType::int64);
  EXPECT_THAT(batches.describe(),
              HasSubstr("2 times\n  -> 3 decoders, in order -> shuffle queue of 4, "
                        "at least 2 to choose from -> batches of 4"));

  BatchIterator iterator(batches, {1, 1});
  std::int64_t rows = 0;
  while (const auto batch = iterator.next())
    for (std::int64_t i = 0; i < batch->rows(); ++i, ++rows)
      EXPECT_EQ(batch->components[0].at(2 * i), 2 * batch->components[1].at(i) - 1);
  EXPECT_EQ(rows, 6);
}

TEST_F(PipelineFileTest, PointsAtWhatIsNotItsLanguage) {
  EXPECT_EQ(complaint("stream {\n  raeder { }\n}"),
            ":2:3: there is no field 'raeder'; did you mean 'reader'?");
  EXPECT_THAT(complaint("stream {\n"), StartsWith(":2:1: Expected identifier"));
  EXPECT_THAT(complaint("batch { rows: many }"), StartsWith(":1:15: Expected integer"));
}

TEST_F(PipelineFileTest, SaysWhatIsMissing) {
  EXPECT_THAT(complaint(""), StartsWith(": a pipeline has a stream { reader { ... }"));
  EXPECT_THAT(complaint("stream {\n  reader { }\n}"),
              StartsWith(":1:1: a stream has a reader and a decoder"));
  EXPECT_THAT(complaint(changed("shuffle { capacity: 4 min_after_dequeue: 2 }", "")),
              StartsWith(": a pipeline has a queue"));
  EXPECT_THAT(complaint(changed("batch { rows: 4 remainder: KEEP in_order: true }", "")),
              StartsWith(": a pipeline ends with batch {"));
  EXPECT_THAT(complaint(changed(" remainder: KEEP", "")),
              StartsWith(":21:1: say what happens to the rows at the end"));
}

TEST_F(PipelineFileTest, PointsAtReadersAndDecoders) {
  EXPECT_THAT(complaint(changed("\"text\" option", "\"texts\" option"), Code::not_found),
              StartsWith(":3:3: no reader is called 'texts'; there are: "));
  EXPECT_THAT(complaint(changed("decoder { name: \"numbers\"", "decoder { name: \"nmbers\""),
                        Code::not_found),
              StartsWith(":4:3: no decoder is called 'nmbers'; there are: "));
  EXPECT_THAT(complaint(changed("features-*", "pictures-*"), Code::not_found),
              StartsWith(":3:3: no file matches " + (directory / "pictures-*.txt")));
}

TEST_F(PipelineFileTest, PointsAtOptions) {
  EXPECT_EQ(complaint(changed("value: \"1\" }", "value: \"one\" }")),
            ":10:5: option 'skip_header_lines' of reader 'text' is \"one\", which is not a whole "
            "number");
  EXPECT_THAT(
      complaint(changed("skip_header_lines", "skip_lines")),
      StartsWith(":10:5: reader 'text' has no option 'skip_lines'; there are: allow_empty, "));
  EXPECT_THAT(complaint(changed("int64", "int8")),
              StartsWith(":12:3: numbers are decoded to float32 or int64, not to int8"));
  EXPECT_THAT(complaint(changed("option { name: \"shape\" value: \"\" }", "")),
              StartsWith(":12:3: decoder 'numbers' needs the option 'shape'"));
  EXPECT_THAT(complaint(changed("option { name: \"shape\" value: \"\" }", "option { }")),
              StartsWith(":14:5: an option has a name and a value"));
}

TEST_F(PipelineFileTest, PointsAtNumbers) {
  EXPECT_THAT(complaint(changed("min_after_dequeue: 2", "min_after_dequeue: 4")),
              StartsWith(":20:1: a shuffle queue needs 0 <= min_after_dequeue < capacity, but 4"));
  EXPECT_THAT(complaint(changed("rows: 4", "rows: 0")), StartsWith(":21:9: a batch has 1 to "));
  EXPECT_THAT(complaint(changed("decoders: 3", "decoders: -3")),
              StartsWith(":19:12: decoders is -3; it goes from 0 to"));
  EXPECT_THAT(complaint(changed("decoders: 3", "decoders: 3000")),
              StartsWith(":19:1: the number of decoders is 0"));
  EXPECT_THAT(complaint(changed("epochs: 2", "epochs: -2")),
              StartsWith(":18:1: records are repeated once or more"));
}

TEST_F(PipelineFileTest, EndsWellWhateverTheText) {
  RandomStream random(5, 6);
  for (int round = 0; round < 500; ++round) {
    std::string text = kFile;
    for (auto i = 1 + random.below(5); i-- > 0;) {
      const auto at = random.below(text.size());
      if (random.below(2) == 0)
        text.erase(at, 1 + random.below(20));
      else
        text[at] = static_cast<char>(random.below(128));
    }
    try {
      (void)parse(text);
    } catch (const Error&) {
      // It says what is wrong.
    }
  }
}

TEST_F(PipelineFileTest, RefusesAFileThatIsTooLarge) {
  test::write_file(directory / "x.pbtxt", std::string((std::size_t{4} << 20) + 1, '#'));
  EXPECT_THAT(error_of([&] { (void)read_pipeline(directory / "x.pbtxt"); }),
              IsError(Code::resource_exhausted, HasSubstr("at most 4194304 bytes")));
  EXPECT_THAT(error_of([&] { (void)read_pipeline(directory / "none.pbtxt"); }),
              IsError(Code::not_found, HasSubstr("none.pbtxt")));
}

TEST_F(PipelineFileTest, RefusesDecodersThatHaveNoStream) {
  const std::string decoder =
      "  decoder { name: \"numbers\" option { name: \"shape\" value: "
      "\"2,1\" } }\n";
  EXPECT_EQ(complaint(changed(decoder, decoder + decoder + decoder)),
            ":5:3: reader 'text' gives 1 stream of records, which needs 1 decoder, but there are "
            "3");
  std::filesystem::create_directories(directory / "images/cats");
  test::write_file(directory / "images/cats/a.png", "x");
  const std::string folder = R"(stream {
  reader { name: "image_folder" option { name: "directory" value: "images" } }
  decoder { name: "images" option { name: "height" value: "2" }
                           option { name: "width" value: "2" } }
}
fifo {}
batch { rows: 2 remainder: DROP }
)";
  EXPECT_EQ(complaint(folder),
            ":1:1: reader 'image_folder' gives 2 streams of records, which need 2 decoders, but "
            "there is 1");
}

TEST_F(PipelineFileTest, RefusesWhatNoMemoryCouldHold) {
  const auto with_shape = [](const std::string& shape) {
    return changed("value: \"2,1\"", "value: \"" + shape + "\"");
  };
  EXPECT_THAT(complaint(with_shape("1099511627776,1099511627776")),
              StartsWith(":4:29: option 'shape' of decoder 'numbers' is too large"));
  EXPECT_THAT(complaint(with_shape("1099511627776,4194304")),
              StartsWith(":21:9: a batch of 4 rows would have more than 2^47 bytes: component 0 of "
                         "an element is float32 [1099511627776, 4194304]"));
  EXPECT_THAT(complaint(with_shape("1099511627776,32")), HasSubstr("more than 2^47 bytes"));
  EXPECT_THAT(complaint(with_shape("1099511627777")), StartsWith(":4:29: option 'shape'"));
  EXPECT_THAT(complaint(changed("rows: 4", "rows: 9223372036854775807")),
              StartsWith(":21:9: a batch has 1 to "));
}

TEST_F(PipelineFileTest, ComputesABoundForWhateverIsAskedFor) {
  const auto most = "9223372036854775807";
  const auto large = parse(changed("shuffle { capacity: 4", text("shuffle { capacity: ", most)));
  EXPECT_EQ(large.memory_bound(1), std::numeric_limits<std::uint64_t>::max());
  const auto bounded = parse(changed("shuffle { capacity: 4", text("shuffle { capacity_bytes: 1000 "
                                                                   "capacity: ",
                                                                   most)));
  EXPECT_LT(bounded.memory_bound(1), std::uint64_t{1} << 40);
}

}  // namespace
}  // namespace troupe
