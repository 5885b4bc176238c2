#include "troupe/actors/pipeline/csv.h"

#include <gmock/gmock.h>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/pipeline/records.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CsvPipeline : public ::testing::Test {
 protected:
  void SetUp() override {
    test::write_file(directory / "a.csv",
                     "city,rooms,age,note\nRome,3,10,\nParis,4,,\"two\nlines\"\n");
    test::write_file(directory / "b.csv", "city,rooms,age,note\nOslo,5,x,\nOslo,6,1,\n");
  }
  Batches batches(const DecodeOptions& decoding = {}) const {
    return read_csv(files, {.header = true})
        .decode({csv_columns({csv::stack("features", {csv::required<float>("rooms"),
                                                      csv::with_default("age", -1.0f)}),
                              csv::category("city", {"Rome", "Paris"}, csv::unknown_id(2))},
                             {.header = csv_header(files)})},
                decoding)
        .buffer(10)
        .batch(4, Remainder::keep);
  }

  test::TemporaryDirectory directory;
  std::vector<std::string> files{directory / "*.csv"};
};

TEST_F(CsvPipeline, GoesFromFilesToBatches) {
  DecodeOptions decoding;
  decoding.skip_bad_records = 1;
  decoding.quarantine = directory / "bad.txt";
  BatchIterator iterator(batches(decoding));
  const auto batch = iterator.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->components[0], Tensor::of<float>({3, 2}, {3, 10, 4, -1, 6, 1}));
  EXPECT_EQ(batch->components[1], Tensor::of<std::int64_t>({3}, {0, 1, 2}));
  EXPECT_FALSE(iterator.next());
  EXPECT_THAT(test::read_file(directory / "bad.txt"),
              HasSubstr("b.csv:2:8: field 'age' (#2): \"x\" is not a valid float32\nOslo,5,x,\n"));
}

TEST_F(CsvPipeline, KeepsTheBadRecordsOfSeveralReadersInOneFile) {
  DecodeOptions decoding{.decoders = 1, .skip_bad_records = 1, .quarantine = directory / "bad.txt"};
  const auto examples = [&](const std::string& name) {
    return read_csv({directory / name}, {.header = true})
        .decode({csv_columns({csv::required<float>("age")},
                             {.header = csv_header({directory / name})})},
                decoding);
  };
  BatchIterator iterator(
      join({examples("a.csv"), examples("b.csv")}).buffer(10).batch(4, Remainder::keep));
  const auto batch = iterator.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->components[0], Tensor::of<float>({2}, {10, 1}));
  EXPECT_FALSE(iterator.next());
  EXPECT_THAT(test::read_file(directory / "bad.txt"),
              AllOf(HasSubstr("a.csv:3:"), HasSubstr("b.csv:2:")));
}

TEST_F(CsvPipeline, FailsWithThePlaceOfABadRecord) {
  BatchIterator iterator(batches());
  EXPECT_THAT(error_of([&] {
                while (iterator.next()) continue;
              }),
              IsError(Code::invalid_argument, HasSubstr("b.csv:2:8: field 'age' (#2)")));
}

TEST_F(CsvPipeline, ReadsFilesInTurn) {
  const auto source = interleave(files, csv_records({.header = true}), {.cycle_length = 2}).open();
  std::vector<RecordRun> runs;
  std::vector<std::string> first;
  while (source->read(runs, {}))
    for (std::size_t i = 0; i < runs[0].count(); ++i) first.emplace_back(runs[0].begin(i), 1);
  EXPECT_THAT(first, ElementsAre("R", "O", "P", "O"));
}

TEST_F(CsvPipeline, ComplainsAboutMistakesWhenItIsDescribed) {
  EXPECT_THAT(error_of([&] { batches({.skip_bad_records = 0, .quarantine = "bad.txt"}); }),
              IsError(Code::invalid_argument, HasSubstr("no record would be left out")));
  EXPECT_THAT(csv_header(files), ElementsAre("city", "rooms", "age", "note"));
  EXPECT_THAT(error_of([&] { read_csv({directory / "none.csv"}); }),
              IsError(Code::not_found, HasSubstr("none.csv")));
  EXPECT_THAT(
      error_of([&] { csv_columns({csv::required<float>("room")}, {.header = csv_header(files)}); }),
      IsError(Code::invalid_argument, HasSubstr("no column is called \"room\"")));
}

}  // namespace
}  // namespace troupe
