#include "troupe/actors/pipeline/records.h"

#include <algorithm>

#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "troupe/actors/decoders/example_builder.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/pipeline/csv.h"
#include "troupe/actors/pipeline/libsvm.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RecordsTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view bytes) {
    test::write_file(directory / name, bytes);
    return directory / name;
  }
  static std::vector<std::string> read(const Records& records) {
    return test::read_with_places(*records.open());
  }
  test::TemporaryDirectory directory;
};

TEST_F(RecordsTest, ReadFilesOfEveryFormat) {
  EXPECT_THAT(read(read_lines({file("a.txt", "h\n1\n")}, {.skip_header_lines = 1})),
              ElementsAre("a.txt:2 1"));
  EXPECT_THAT(read(read_fixed_length({file("a.bin", "Haabb")}, 2, {.header_bytes = 1})),
              ElementsAre("a.bin:1 aa", "a.bin:2 bb"));
  EXPECT_THAT(read(read_files({file("b", "1"), file("c", "2")})), ElementsAre("b 1", "c 2"));
  test::write_tfrecords(directory / "a.tfrecord", {"x", "y"}, Compression::zlib);
  EXPECT_THAT(read(read_tfrecord({directory / "*.tfrecord"}, {.compression = Compression::zlib})),
              ElementsAre("a.tfrecord:1 x", "a.tfrecord:2 y"));
}

TEST_F(RecordsTest, NameAtOnceWhatIsNotThere) {
  EXPECT_THAT(error_of([&] { read_tfrecord({directory / "none"}); }),
              IsError(Code::not_found, HasSubstr("none: No such file")));
  EXPECT_THAT(error_of([&] { read_fixed_length({file("a", "")}, 0); }),
              IsError(Code::invalid_argument, HasSubstr("record_bytes")));
  EXPECT_THAT(error_of([&] { interleave({directory / "none*"}, lines()); }),
              IsError(Code::not_found, HasSubstr("no file matches")));
}

TEST_F(RecordsTest, InterleaveFilesAndOtherRecords) {
  const auto a = file("a.txt", "a1\na2\n"), b = file("b.txt", ""), c = file("c.txt", "c1\n");
  EXPECT_THAT(read(interleave({directory / "*.txt"}, lines(), {.cycle_length = 3})),
              ElementsAre("a.txt:1 a1", "c.txt:1 c1", "a.txt:2 a2"));
  EXPECT_THAT(read(interleave({read_text({a}), read_text({c})})),
              ElementsAre("a.txt:1 a1", "c.txt:1 c1", "a.txt:2 a2"));
  EXPECT_THAT(read(interleave({a, c}, fixed_length(3))),
              ElementsAre("a.txt:1 a1\n", "c.txt:1 c1\n", "a.txt:2 a2\n"));
  EXPECT_THAT(read(interleave({a, c}, whole_files())), ElementsAre("a.txt a1\na2\n", "c.txt c1\n"));
  test::write_tfrecords(directory / "a.tfrecord", {"x"});
  EXPECT_THAT(read(interleave({directory / "a.tfrecord"}, tfrecords())),
              ElementsAre("a.tfrecord:1 x"));
}

TEST_F(RecordsTest, AreSharedOutAndRepeated) {
  const auto records = read_text({file("a.txt", "1\n2\n3\n")});
  EXPECT_THAT(read(shard(records, 0, 2).repeat(2)),
              ElementsAre("a.txt:1 1", "a.txt:3 3", "a.txt:1 1", "a.txt:3 3"));
  EXPECT_THAT(error_of([&] { shard(records.repeat(2), 0, 2); }),
              IsError(Code::invalid_argument, HasSubstr("before they are repeated")));
  EXPECT_THROW(shard(records, 2, 2), Error);
}

TEST_F(RecordsTest, KeepCountOfThemselves) {
  const Records ten([]() -> std::unique_ptr<RecordSource> { return nullptr; }, "ten", 10);
  EXPECT_EQ(interleave({ten, ten.repeat(2)}).count(), 30);
  EXPECT_EQ(interleave({ten, read_text({file("a.txt", "1\n")})}).count(), 0) << "not known";
}

TEST_F(RecordsTest, HaveAnotherOrderOfFilesInEachEpoch) {
  std::vector<std::string> files;
  for (int i = 0; i < 8; ++i) files.push_back(file("f" + std::to_string(i), "x\n"));
  const auto all = read(read_text(files).repeat(2, 11));
  ASSERT_EQ(all.size(), 16u);
  const std::vector<std::string> first(all.begin(), all.begin() + 8);
  const std::vector<std::string> second(all.begin() + 8, all.end());
  EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(second));
  EXPECT_NE(first, second);
  EXPECT_NE(read(read_text(files).repeat(2, 12)), all);
}

TEST_F(RecordsTest, SplitAText) {
  const auto path = file("a.txt", "h\n" + test::lines_of("line ", 100));
  std::size_t lines = 0;
  for (const auto& part : read_text({path}, 1).split(4)) {
    const auto records = read(part);
    EXPECT_NEAR(static_cast<double>(records.size()), 25, 5);
    lines += records.size();
  }
  EXPECT_EQ(lines, 100u);
}

TEST_F(RecordsTest, OfEveryFormatThatCanBeSplitAreSplit) {
  const auto joined = [](const std::vector<Records>& parts) {
    std::vector<std::string> all;
    for (const auto& part : parts)
      for (auto& record : read(part)) all.push_back(record.substr(record.find(' ') + 1));
    return all;
  };
  const auto text = file("a.csv", "h\n1\n2\n3\n4\n5\n");
  EXPECT_THAT(joined(read_csv({text}, {.header = true, .quoted_newlines = false}).split(3)),
              ElementsAre("1", "2", "3", "4", "5"));
  EXPECT_EQ(read_text({text}).split(2)[1].description(), "lines of " + text + ", part 2 of 2");
  EXPECT_THAT(joined(read_libsvm({text}).split(2)), ElementsAre("h", "1", "2", "3", "4", "5"));
  EXPECT_THAT(
      joined(read_fixed_length({file("a.bin", "Haabbcc")}, 2, {.header_bytes = 1}).split(2)),
      ElementsAre("aa", "bb", "cc"));
}

TEST_F(RecordsTest, SayWhyTheyCannotBeSplit) {
  const auto refused = [](const Records& records) {
    return error_of([&] { (void)records.split(2); });
  };
  const auto a = file("a", "1\n2\n"), b = file("b", "3\n");
  test::write_tfrecords(directory / "c", {"x", "y"});
  EXPECT_THAT(refused(read_tfrecord({directory / "c"})),
              IsError(Code::invalid_argument, HasSubstr("where a record begins is known only from "
                                                        "the lengths of all before it. Write "
                                                        "several files")));
  EXPECT_THAT(refused(read_csv({a})),
              IsError(Code::invalid_argument, HasSubstr("inside of quotes")));
  EXPECT_THAT(refused(read_text({a, b})),
              IsError(Code::invalid_argument, HasSubstr("Join a reader of each")));
  EXPECT_THAT(refused(read_text({a}).repeat(2)),
              IsError(Code::invalid_argument, HasSubstr("before anything else is done with them")));
  EXPECT_THAT(refused(read_files({a})),
              IsError(Code::invalid_argument, HasSubstr("cannot be split")));
}

TEST_F(RecordsTest, ReachPaddedBatches) {
  TFRecordWriter writer(directory / "a");
  for (std::int64_t i = 1; i <= 3; ++i) {
    const std::vector<std::int64_t> label{i}, ids(static_cast<std::size_t>(i), 10 * i);
    writer.write(ExampleBuilder().ints("label", label).ints("ids", ids).message());
  }
  writer.close();
  const auto batches =
      read_tfrecord({directory / "a"})
          .decode({example_features({{"label", DType::int64}, {"ids", DType::int64, {-1}}})},
                  {.decoders = 1})
          .buffer(8)
          .padded_batch(3, Remainder::keep);
  BatchIterator iterator(batches, {1, 1});
  const auto batch = iterator.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->components[0], Tensor::of<std::int64_t>({3}, {1, 2, 3}));
  EXPECT_EQ(batch->components[1],
            Tensor::of<std::int64_t>({3, 3}, {10, 0, 0, 20, 20, 0, 30, 30, 30}));
  EXPECT_FALSE(iterator.next());
}

TEST_F(RecordsTest, AreReadInPartsAtTheSameTimeAndJoined) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += std::to_string(i) + "\n";
  std::vector<Examples> parts;
  for (const auto& part : read_text({file("a.txt", bytes)}).split(3))
    parts.push_back(part.decode({numbers({})}, {.decoders = 1}));
  BatchIterator iterator(join(parts).buffer(64).batch(100, Remainder::keep), {2, 1});
  std::vector<float> all;
  while (const auto batch = iterator.next())
    for (const auto number : batch->components[0].read<float>()) all.push_back(number);
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), 1000u);
  EXPECT_EQ(all.front(), 0);
  EXPECT_EQ(all.back(), 999);
}

TEST_F(RecordsTest, SayWhatTheyLeaveOutWhenTheyEnd) {
  TextLineOptions options;
  options.policy.missing = FileAction::skip;
  const auto records = read_lines({file("a.txt", "1\n"), directory / "none*"}, options);
  EXPECT_THAT(read(records), ElementsAre("a.txt:1 1"));
  const auto source = records.open();
  EXPECT_THAT(source->report(), HasSubstr("1 file was left out"));
}

TEST_F(RecordsTest, AreDecoded) {
  const std::vector<std::int64_t> label{7};
  test::write_tfrecords(directory / "a", {ExampleBuilder().ints("label", label).message()});
  std::vector<RecordRun> runs;
  ASSERT_TRUE(read_tfrecord({directory / "a"}).open()->read(runs, {}));
  Element element;
  example_features({{"label", DType::int64}})()->decode(runs[0], 0, element);
  sequence_features({{"label", DType::int64}}, {})()->decode(runs[0], 0, element);
  raw_bytes(DType::uint8, {-1})()->decode(runs[0], 0, element);
  EXPECT_EQ(element[0], Tensor::scalar<std::int64_t>(7));
  EXPECT_EQ(element[1], element[0]);
  EXPECT_EQ(element[2].size(), runs[0].end(0) - runs[0].begin(0));
}

}  // namespace
}  // namespace troupe
