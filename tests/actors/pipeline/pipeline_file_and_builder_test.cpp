// A pipeline file and the builder mean the same by the same words: their batches are equal.

#include <gmock/gmock.h>

#include <functional>
#include <ostream>

#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "troupe/actors/decoders/example_builder.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/pipeline/csv.h"
#include "troupe/actors/pipeline/libsvm.h"
#include "troupe/actors/pipeline/pipeline_file.h"
#include "troupe/actors/pipeline/records.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// What both of them read.
class PipelineFiles : public ::testing::Test {
 protected:
  PipelineFiles() {
    std::string numbers, ragged, houses = "city,street,rooms\n";
    for (int i = 0; i < 40; ++i) {
      numbers += std::to_string(i) + "\n";
      ragged += "1";
      for (int k = 1; k <= 1 + i * 7 % 11; ++k)
        ragged += " " + std::to_string(k) + ":" + std::to_string(i);
      ragged += "\n";
      houses += std::string(i % 3 == 0   ? "Rome"
                            : i % 3 == 1 ? "Paris"
                                         : "Oslo") +
                ",s" + std::to_string(i % 5) + "," + (i % 10 == 9 ? "many" : std::to_string(i)) +
                "\n";
    }
    write("a.txt", numbers);
    write("b.txt", "100\n101\n102\n");
    write("c.txt", "");
    write("d.txt", "200\n201\n202\n203\n204\n");
    write("ragged.txt", ragged);
    write("houses.csv", houses);
    write("cities.txt", "Rome\nParis\n");
    write("records.bin", "HH" + numbers);
    std::vector<std::string> examples;
    for (std::int64_t i = 0; i < 12; ++i) {
      const std::vector<std::int64_t> values(static_cast<std::size_t>(i % 4), i);
      examples.push_back(ExampleBuilder().ints("ids", values).message());
    }
    test::write_tfrecords(directory / "a.tfrecord", examples);
  }
  void write(const std::string& name, const std::string& bytes) {
    test::write_file(directory / name, bytes);
  }
  std::string path(const std::string& name) const { return directory / name; }
  Batches parse(const std::string& text) const { return parse_pipeline(text, path("x.pbtxt")); }

  /// The batches of a file, which are those of the builder.
  std::vector<Batch> equal_batches(const std::string& text, const Batches& built) const {
    const auto written = parse(text);
    EXPECT_EQ(written.describe(), built.describe());
    EXPECT_EQ(written.remainder(), built.remainder());
    EXPECT_EQ(written.prefetched(), built.prefetched());
    EXPECT_EQ(written.memory_bound(1), built.memory_bound(1));
    std::vector<Batch> batches;
    BatchIterator left(written, {2, 1}), right(built, {2, 1});
    while (const auto batch = left.next()) {
      const auto other = right.next();
      EXPECT_TRUE(other && batch->components == other->components) << batches.size();
      batches.push_back(*batch);
    }
    EXPECT_FALSE(right.next());
    EXPECT_FALSE(batches.empty());
    return batches;
  }
  /// What is wrong with a text, behind the name of the file: ":4:5: ...".
  std::string complaint(const std::string& text) const {
    const std::string words = error_of([&] { (void)parse(text); }).what();
    EXPECT_THAT(words, StartsWith(path("x.pbtxt:")));
    return words.substr(std::min(words.size(), path("x.pbtxt").size()));
  }
  static std::vector<std::int64_t> rows_of(const std::vector<Batch>& batches) {
    std::vector<std::int64_t> rows;
    for (const auto& batch : batches) rows.push_back(batch.rows());
    return rows;
  }
  static std::vector<double> values_of(const std::vector<Batch>& batches) {
    std::vector<double> values;
    for (const auto& batch : batches)
      for (std::int64_t i = 0; i < batch.components[0].size(); ++i)
        values.push_back(batch.components[0].at(i));
    return values;
  }

  test::TemporaryDirectory directory;
};

const std::string kNumbers = R"(stream {
  reader { name: "text" option { name: "files" value: "a.txt" } }
  decoder { name: "numbers" option { name: "shape" value: "" } }
}
)";
const std::string kBatch = "fifo { }\nbatch { rows: 8 remainder: KEEP }\n";

// ---- readers ---------------------------------------------------------------------------------

TEST_F(PipelineFiles, JoinReaders) {
  const auto batches = equal_batches(
      R"(
      join {
        stream {
          reader { name: "text" option { name: "files" value: "a.txt" } }
          decoder { name: "numbers" option { name: "shape" value: "" } }
        }
        decoding { decoders: 2 block_records: 3 }
      }
      join {
        stream {
          reader { name: "text" option { name: "files" value: "d.txt" } }
          decoder { name: "numbers" option { name: "shape" value: "" } }
        }
        epochs: 2
        decoding { decoders: 1 block_records: 2 }
      }
      shuffle { capacity: 20 min_after_dequeue: 5 }
      batch { rows: 8 remainder: DROP }
      prefetch: 3)",
      join({read_text({path("a.txt")}).decode({numbers({})}, {.decoders = 2, .block_records = 3}),
            read_text({path("d.txt")})
                .repeat(2)
                .decode({numbers({})}, {.decoders = 1, .block_records = 2})})
          .shuffle({.capacity = 20, .min_after_dequeue = 5})
          .batch(8, Remainder::drop)
          .prefetch(3));
  EXPECT_EQ(batches.size(), 6u);
}

TEST_F(PipelineFiles, ReadFilesInTurn) {
  const auto batches =
      equal_batches(R"(
      stream {
        reader { name: "text" option { name: "files" value: ["a.txt", "b.txt", "c.txt", "d.txt"] } }
        interleave { cycle_length: 3 block_length: 2 }
        decoder { name: "numbers" option { name: "shape" value: "" } }
      })" + kBatch,
                    interleave({path("a.txt"), path("b.txt"), path("c.txt"), path("d.txt")},
                               lines(), {.cycle_length = 3, .block_length = 2})
                        .decode({numbers({})})
                        .buffer(1024)
                        .batch(8, Remainder::keep));
  EXPECT_THAT(values_of(batches).at(2), 100);
}

TEST_F(PipelineFiles, TakeAShare) {
  const auto batches = equal_batches(kNumbers + "shard { index: 1 count: 3 }\nepochs: 2\n" + kBatch,
                                     shard(read_text({path("a.txt")}), 1, 3)
                                         .repeat(2)
                                         .decode({numbers({})})
                                         .buffer(1024)
                                         .batch(8, Remainder::keep));
  EXPECT_EQ(values_of(batches).size(), 26u);
}

TEST_F(PipelineFiles, ReadOneFileInParts) {
  const auto built = [&](const Records& records, const DecoderFactory& decoder) {
    std::vector<Examples> parts;
    for (const auto& part : records.split(3)) parts.push_back(part.decode({decoder}));
    return join(parts).buffer(1024).batch(8, Remainder::keep);
  };
  auto batches = equal_batches(kNumbers + "split: 3\n" + kBatch,
                               built(read_text({path("a.txt")}), numbers({})));
  EXPECT_EQ(values_of(batches).size(), 40u);

  batches = equal_batches(R"(
      stream {
        reader {
          name: "fixed_length"
          option { name: "files" value: "records.bin" }
          option { name: "record_bytes" value: "2" }
          option { name: "header_bytes" value: "2" }
        }
        decoder { name: "raw" option { name: "shape" value: "2" } }
      }
      split: 3
)" + kBatch,
                          built(read_fixed_length({path("records.bin")}, 2, {.header_bytes = 2}),
                                raw_bytes(DType::uint8, {2})));
  EXPECT_EQ(values_of(batches).size(), 110u);

  batches = equal_batches(
      R"(
      stream {
        reader {
          name: "csv"
          option { name: "files" value: "houses.csv" }
          option { name: "header" value: "true" }
          option { name: "quoted_newlines" value: "false" }
        }
        decoder { name: "csv" option { name: "columns" value: "street hashed 10" } }
      }
      split: 3
)" + kBatch,
      built(read_csv({path("houses.csv")}, {.header = true, .quoted_newlines = false}),
            csv_columns({csv::hashed("street", 10)}, {.header = {"city", "street", "rooms"}})));
  EXPECT_EQ(values_of(batches).size(), 40u);
}

// ---- decoders --------------------------------------------------------------------------------

TEST_F(PipelineFiles, HaveCategoriesAndAQuarantine) {
  const auto columns = [&](const std::string& quarantine) {
    return read_csv({path("houses.csv")}, {.header = true})
        .decode({csv_columns({csv::category("city", {"Rome", "Paris"}, csv::hash_unknown(4)),
                              csv::category("city", {"Rome", "Paris"}, csv::unknown_id(7)).or_id(8),
                              csv::hashed("street", 10), csv::required<float>("rooms")},
                             {.header = csv_header({path("houses.csv")})})},
                {.decoders = 1, .skip_bad_records = 5, .quarantine = quarantine})
        .buffer(1024)
        .batch(8, Remainder::keep);
  };
  const auto batches = equal_batches(R"(
      stream {
        reader {
          name: "csv"
          option { name: "files" value: "houses.csv" }
          option { name: "header" value: "true" }
        }
        decoder {
          name: "csv"
          option {
            name: "columns"
            value: [
              "city category cities.txt hash_unknown 4",
              "city category cities.txt unknown_id 7 or_id 8",
              "street hashed 10",
              "rooms float32"
            ]
          }
        }
      }
      decoding { decoders: 1 skip_bad_records: 5 quarantine: "bad-1.csv" })" +
                                         kBatch,
                                     columns(path("bad-2.csv")));
  EXPECT_EQ(rows_of(batches), (std::vector<std::int64_t>{8, 8, 8, 8, 4}));
  EXPECT_EQ(batches[0].components[1].at(2), 7);
  EXPECT_THAT(test::read_file(path("bad-1.csv")), HasSubstr("field 'rooms' (#2): \"many\" is not"));
  EXPECT_EQ(test::read_file(path("bad-1.csv")), test::read_file(path("bad-2.csv")));
}

TEST_F(PipelineFiles, StackAndSelectColumns) {
  write("numbers.csv", "1,+2,3,4\n5,6,7,8\n");
  const auto examples = [&](std::vector<CsvComponent> components,
                            const CsvDecoderOptions& options) {
    return read_csv({path("numbers.csv")})
        .decode({csv_columns(std::move(components), options)})
        .buffer(1024)
        .batch(8, Remainder::keep);
  };
  const auto text = [](const std::string& options) {
    return R"(stream {
        reader { name: "csv" option { name: "files" value: "numbers.csv" } }
        decoder { name: "csv" )" +
           options + "}\n}\n" + kBatch;
  };
  const auto column = [](const char* name) { return csv::required<float>(name); };
  equal_batches(
      text(R"(option { name: "columns" value: ["a float32", "b int32", "c float32"] }
                        option { name: "select_cols" value: ["3", "1", "0"] }
                        option { name: "numbers" value: "tensorflow_2" }
                        option { name: "stack" value: "x c a" })"),
      examples({csv::required<std::int32_t>("b"), csv::stack("x", {column("c"), column("a")})},
               {.select_cols = {1, 0, 3}, .numbers = CsvNumbers::tensorflow_2}));
  const auto four =
      R"(option { name: "columns" value: ["a float32", "b float32", "c float32", "d float32"] })";
  equal_batches(
      text(four + std::string(R"(option { name: "stack" value: "all" })")),
      examples({csv::stack("all", {column("a"), column("b"), column("c"), column("d")})}, {}));
  equal_batches(text(four + std::string(R"(option { name: "stack" value: ["x a c", "y d b"] })")),
                examples({csv::stack("x", {column("a"), column("c")}),
                          csv::stack("y", {column("d"), column("b")})},
                         {.header = {"a", "b", "c", "d"}}));
  EXPECT_THAT(
      complaint(text(four + std::string(R"(option { name: "stack" value: ["x a", "y a"] })"))),
      HasSubstr("option 'stack' of decoder 'csv' has \"y a\", but there is no column 'a', or "
                "it is stacked already"));
}

TEST_F(PipelineFiles, HaveFeaturesThatVary) {
  equal_batches(
      R"(
      stream {
        reader { name: "tfrecord" option { name: "files" value: "a.tfrecord" } }
        decoder { name: "example" option { name: "features" value: "ids int64 -1" } }
      }
      decoding { decoded_bytes: 5000 }
      fifo { capacity: 9 capacity_bytes: 4000 }
      batch { rows: 5 remainder: KEEP padding { value: -1 batch_bytes: 3000 } })",
      read_tfrecord({path("a.tfrecord")})
          .decode({example_features({{"ids", DType::int64, {-1}}})}, {.decoded_bytes = 5000})
          .buffer({.capacity = 9, .capacity_bytes = 4000})
          .padded_batch(5, Remainder::keep, {.values = {-1}, .batch_bytes = 3000}));
}

TEST_F(PipelineFiles, Filter) {
  const auto built = [&](const ElementFilter& keep) {
    return read_text({path("a.txt")})
        .decode({numbers({})})
        .filter(keep)
        .buffer(1024)
        .batch(8, Remainder::keep);
  };
  auto batches =
      equal_batches(kNumbers + "filter { at_least: 5 at_most: 30 }\n" + kBatch,
                    built([](const Element& e) { return e[0].item() >= 5 && e[0].item() <= 30; }));
  EXPECT_EQ(values_of(batches).size(), 26u);
  batches = equal_batches(
      kNumbers + "filter { component: 0 one_of: [3, 4, 50] exclude: true }\n" + kBatch,
      built([](const Element& e) { return e[0].item() != 3 && e[0].item() != 4; }));
  EXPECT_EQ(values_of(batches).size(), 38u);
}

// ---- batches ---------------------------------------------------------------------------------

TEST_F(PipelineFiles, BucketByLength) {
  const std::string stream = R"(stream {
  reader { name: "libsvm" option { name: "files" value: "ragged.txt" } }
  decoder { name: "libsvm" option { name: "sparse" value: "true" } }
}
)";
  const auto examples = read_libsvm({path("ragged.txt")}).decode({libsvm_sparse()});
  auto batches = equal_batches(
      stream + "bucket_by_length { boundaries: [4, 8] batch_sizes: [8, 4, 2] remainder: KEEP }",
      examples.bucket_by_length({.boundaries = {4, 8}, .batch_sizes = {8, 4, 2}}, Remainder::keep));
  EXPECT_GT(batches.size(), 8u);
  batches = equal_batches(
      stream + R"(
      shuffle { capacity: 60 min_after_dequeue: 10 }
      bucket_by_length {
        boundaries: 6
        batch_sizes: [5, 3]
        length { component: 1 axis: 0 }
        padding { value: [-1, 0.5, 0] batch_bytes: 100000 }
        remainder: DROP
        in_order: true
      })",
      examples.shuffle({.capacity = 60, .min_after_dequeue = 10})
          .bucket_by_length({.boundaries = {6},
                             .batch_sizes = {5, 3},
                             .length = [](const Element& e) { return e[1].shape()[0]; },
                             .padding = {{-1, 0.5, 0}, 100'000}},
                            Remainder::drop)
          .in_order());
  EXPECT_EQ(batches[0].components[0].shape().rank(), 2);
}

// ---- mistakes --------------------------------------------------------------------------------

TEST_F(PipelineFiles, PointAtMistakesInHowRecordsAreRead) {
  EXPECT_THAT(complaint(kNumbers + "split: 0\n" + kBatch),
              StartsWith(":5:1: split is 0; it goes from 1"));
  EXPECT_THAT(complaint(kNumbers + kNumbers + "split: 2\n" + kBatch),
              StartsWith(":9:1: lines of " + path("a.txt") + " + "));
  EXPECT_THAT(
      complaint(R"(stream {
  reader { name: "tfrecord" option { name: "files" value: "a.tfrecord" } }
  decoder { name: "raw" option { name: "dtype" value: "string" } }
}
split: 2
)" + kBatch),
      StartsWith(":5:1: TFRecords of " + path("a.tfrecord") + " cannot be split in ranges"));
  EXPECT_THAT(complaint(kNumbers + "shard { index: 3 count: 3 }\n" + kBatch),
              StartsWith(":5:1: there is no shard 3 of 3"));
  EXPECT_THAT(complaint(kNumbers + "shard { index: -1 count: 3 }\n" + kBatch),
              StartsWith(":5:9: index is -1; it is at least 0"));
  const auto interleaved = [](const std::string& words) {
    return "stream {\n  interleave { " + words + " }\n" + kNumbers.substr(9) + kBatch;
  };
  EXPECT_THAT(complaint(interleaved("cycle_length: 0")),
              StartsWith(":2:16: cycle_length is 0; it goes from 1"));
  EXPECT_THAT(complaint(R"(stream {
  reader { name: "image_folder" option { name: "directory" value: "." } }
  interleave { }
  decoder { name: "images" }
})"),
              HasSubstr(":2:3: "));
}

TEST_F(PipelineFiles, PointAtMistakesInAJoin) {
  const auto joined = "join {\n" + kNumbers + "}\n";
  EXPECT_THAT(complaint(joined + "epochs: 3\n" + kBatch),
              StartsWith(":7:1: beside join { ... } there is no epochs: each join has its own"));
  EXPECT_THAT(complaint(kNumbers + joined + kBatch), StartsWith(":1:1: beside join"));
  EXPECT_THAT(complaint(joined + "join { epochs: 3 }\n" + kBatch),
              StartsWith(":7:1: a pipeline has a stream"));
  EXPECT_THAT(complaint(joined + R"(join {
  stream {
    reader { name: "text" option { name: "files" value: "a.txt" } }
    decoder { name: "numbers" option { name: "shape" value: "2" } option { name: "dtype" value: "int64" } }
  }
}
)" + kBatch),
              StartsWith(":1:1: cannot join: component 0 of stream 1 is int64 [2]"));
}

TEST_F(PipelineFiles, PointAtMistakesInDecoding) {
  const auto with_column = [](const std::string& column) {
    return "stream {\n  reader { name: \"csv\" option { name: \"files\" value: \"houses.csv\" } }\n"
           "  decoder { name: \"csv\" option { name: \"columns\" value: \"" +
           column + "\" } }\n}\n" + kBatch;
  };
  EXPECT_THAT(complaint(with_column("city category none.txt")),
              StartsWith(":3:3: cannot read " + path("none.txt")));
  EXPECT_THAT(complaint(with_column("city category cities.txt unknown_id")),
              StartsWith(":3:25: option 'columns' of decoder 'csv' has \"city category cities.txt "
                         "unknown_id\": behind its vocabulary may stand or_id, unknown_id"));
  EXPECT_THAT(complaint(with_column("city hashed many")), HasSubstr("where many is not a number"));
  EXPECT_THAT(complaint(with_column("city hashed 5 unknown_id 3")),
              HasSubstr("behind its buckets may stand or_id and a number"));
  EXPECT_THAT(complaint(with_column("city hashed 0")), StartsWith(":3:3: "));
  EXPECT_THAT(complaint(with_column("city")), HasSubstr("which is not \"name dtype\""));
  EXPECT_THAT(complaint(kNumbers + "decoding { quarantine: \"bad.txt\" }\n" + kBatch),
              StartsWith(":5:1: no record would be left out for the file"));
}

TEST_F(PipelineFiles, PointAtMistakesInFiltersAndBuckets) {
  EXPECT_THAT(complaint(kNumbers + "filter { component: 1 at_least: 3 }\n" + kBatch),
              StartsWith(":5:10: there is no component 1; the elements have 1, from 0"));
  EXPECT_THAT(complaint(kNumbers + "filter { }\n" + kBatch),
              StartsWith(":5:1: say which examples are kept"));
  EXPECT_THAT(
      complaint(R"(stream {
  reader { name: "text" option { name: "files" value: "a.txt" } }
  decoder { name: "numbers" option { name: "shape" value: "1" } }
}
filter { at_least: 3 }
)" + kBatch),
      StartsWith(":5:1: a filter looks at a single number, but component 0 is float32 [1]"));
  EXPECT_THAT(complaint(kNumbers + kBatch + "bucket_by_length { }"),
              StartsWith(":7:1: a pipeline ends with batch"));
  EXPECT_THAT(complaint(kNumbers + "bucket_by_length { boundaries: 3 batch_sizes: [1, 2] }"),
              StartsWith(":5:1: say what happens to the rows"));
  EXPECT_THAT(complaint(kNumbers + "bucket_by_length { batch_sizes: 1 remainder: KEEP }"),
              StartsWith(":5:1: bucket_by_length: all elements have the same shapes"));
  EXPECT_THAT(complaint(kNumbers + "bucket_by_length { length { axis: 1 } remainder: KEEP }"),
              StartsWith(":5:29: there is no axis 1; component 0 is float32 []"));
  EXPECT_THAT(complaint(kNumbers + kBatch + "prefetch: 0"), StartsWith(":7:1: a replica has 1 to"));
}

}  // namespace
}  // namespace troupe
