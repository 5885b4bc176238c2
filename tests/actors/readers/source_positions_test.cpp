// Whatever the source: going on from any of its positions gives exactly the records that
// would have come, in any blocks.

#include <gtest/gtest.h>

#include <random>

#include "actors/readers/idx_bytes.h"
#include "actors/readers/record_files.h"
#include "support/error_matcher.h"
#include "troupe/actors/readers/array_source.h"
#include "troupe/actors/readers/csv_source.h"
#include "troupe/actors/readers/fixed_length_source.h"
#include "troupe/actors/readers/idx_format.h"
#include "troupe/actors/readers/interleave_source.h"
#include "troupe/actors/readers/labelled_file_source.h"
#include "troupe/actors/readers/repeat_source.h"
#include "troupe/actors/readers/shard_source.h"
#include "troupe/actors/readers/text_line_source.h"
#include "troupe/actors/readers/tfrecord_source.h"
#include "troupe/actors/readers/whole_file_source.h"
#include "troupe/actors/readers/zip_source.h"

namespace troupe {
namespace {

using test::NamedSource;
using SourcePtr = std::unique_ptr<RecordSource>;

/// The files that all of these sources read.
void write_files(const test::TemporaryDirectory& directory) {
  const auto write = [&](const std::string& name, std::string_view bytes) {
    test::write_file(directory / name, bytes);
  };
  write("a.txt", "\xEF\xBB\xBF" + test::lines_of("a", 7));
  write("b.txt", "");
  write("c.txt", "c1\r\n\r\n\nc4");
  write("d.txt", test::lines_of("d", 12));
  write("long.txt", test::lines_of("a rather long line ", 23));
  write("a.txt.gz", test::compressed(test::lines_of("x", 9), true) +
                        test::compressed(test::lines_of("y", 8), true));
  write("a.zlib", test::compressed(test::lines_of("z", 20), false));
  write("a.idx", test::idx_bytes(0x08, {9, 2}, "aabbccddeeffgghhii"));
  write("b.idx", test::idx_bytes(0x08, {4, 2}, "jjkkllmm"));
  write("a.bin", "headAAABBBCCCDDDfoot");
  write("b.bin", "headEEEfoot");
  write("c.bin.gz", test::compressed("headFFFGGGfoot", true));
  write("a.csv", "x,y\n1,\"two\nlines\"\n3,4\n\n\"5\",\"\n\n\"\n6,7");
  write("b.csv", "x,y\r\n8,9\r\n\"10\r\n\",11\r\n");
  write("list", "a.txt 0\nd.txt 1\na.idx 2\na.txt 3\n");
  test::write_tfrecords(directory / "a.tfrecord", {"one", "", "three", std::string(300, 'x')});
  test::write_tfrecords(directory / "b.tfrecord", {});
  test::write_tfrecords(directory / "c.tfrecord.gz", {"five", "six", std::string(5000, 'y')});
  test::write_tfrecords(directory / "d.zlib", {"eight", "nine"}, Compression::zlib);
}

SourcePtr lines(const std::string& d, std::vector<std::string> names,
                std::size_t buffer = std::size_t{1} << 20) {
  TextLineOptions options;
  for (const auto& name : names) options.files.push_back(d + "/" + name);
  options.buffer_bytes = buffer;
  options.allow_empty = true;
  return std::make_unique<TextLineSource>(options);
}
SourcePtr zip(SourcePtr a, SourcePtr b, bool allow_shorter = true) {
  std::vector<SourcePtr> both;
  both.push_back(std::move(a));
  both.push_back(std::move(b));
  return std::make_unique<ZipSource>(std::move(both), ZipOptions{allow_shorter});
}
SourcePtr repeat(SourcePtr source, bool shuffle = false) {
  return std::make_unique<RepeatSource>(
      std::move(source), RepeatOptions{.epochs = 3, .shuffle_files = shuffle, .seed = 5});
}
SourcePtr shard(SourcePtr source, std::size_t index, std::size_t count) {
  return std::make_unique<ShardSource>(std::move(source), index, count);
}
SourcePtr csv(const std::string& d, std::vector<std::string> names, std::size_t buffer = 8) {
  CsvOptions options;
  for (const auto& name : names) options.files.push_back(d + "/" + name);
  options.header = true;
  options.buffer_bytes = buffer;
  return std::make_unique<CsvSource>(options);
}
SourcePtr listed_files(const std::string& d) {
  LabelledFileOptions options;
  options.files = std::make_shared<LabelledFiles>(files_by_list(d + "/list"));
  return std::make_unique<LabelledFileSource>(options);
}
SourcePtr interleave(const std::string& d, std::size_t cycle, std::size_t block) {
  static const std::vector<std::string> names{"a.txt", "b.txt", "c.txt", "d.txt"};
  return std::make_unique<InterleaveSource>(
      names.size(), [d](std::size_t i) { return lines(d, {names[i]}, 5); }, "four files",
      InterleaveOptions{cycle, block});
}

const NamedSource kSources[] = {
    {"Lines",
     [](const std::string& d) {
       return lines(d, {"a.txt", "b.txt", "c.txt", "d.txt"});
     }},
    {"LinesInTinyBuffers",
     [](const std::string& d) {
       return lines(d, {"a.txt", "long.txt", "c.txt"}, 3);
     }},
    {"GzipLines",
     [](const std::string& d) {
       return lines(d, {"a.txt.gz", "a.txt"}, 8);
     }},
    {"ZlibLinesBehindAHeader",
     [](const std::string& d) -> SourcePtr {
       TextLineOptions options{.files = {d + "/a.zlib"}, .skip_header_lines = 3};
       options.compression = Compression::zlib;
       return std::make_unique<TextLineSource>(options);
     }},
    {"LinesOfARange",
     [](const std::string& d) -> SourcePtr {
       TextLineOptions options{.files = {d + "/long.txt", d + "/d.txt"}, .buffer_bytes = 16};
       options.range = {5, 300};
       return std::make_unique<TextLineSource>(options);
     }},
    {"CsvOfARange",
     [](const std::string& d) -> SourcePtr {
       CsvOptions options{.files = {d + "/d.txt", d + "/long.txt"}, .quoted_newlines = false};
       options.buffer_bytes = 8;
       options.range = {5, 300};
       return std::make_unique<CsvSource>(options);
     }},
    {"FixedLengthOfARange",
     [](const std::string& d) -> SourcePtr {
       FixedLengthOptions options{.files = {d + "/a.bin", d + "/long.txt"}, .record_bytes = 3};
       options.header_bytes = 5;
       options.hop_bytes = 4;
       options.buffer_bytes = 5;
       options.range = {7, 300};
       return std::make_unique<FixedLengthSource>(options);
     }},
    {"Idx",
     [](const std::string& d) -> SourcePtr {
       return std::make_unique<ArraySource>(FilesOptions{.files = {d + "/a.idx", d + "/b.idx"}},
                                            idx_format());
     }},
    {"FixedLength",
     [](const std::string& d) -> SourcePtr {
       FixedLengthOptions options{.files = {d + "/*.bin", d + "/c.bin.gz"}, .record_bytes = 3};
       options.header_bytes = options.footer_bytes = 4;
       options.buffer_bytes = 5;
       return std::make_unique<FixedLengthSource>(options);
     }},
    {"FixedLengthThatOverlaps",
     [](const std::string& d) -> SourcePtr {
       FixedLengthOptions options{.files = {d + "/a.bin", d + "/c.bin.gz"}, .record_bytes = 4};
       options.hop_bytes = 1;
       return std::make_unique<FixedLengthSource>(options);
     }},
    {"FixedLengthWithGaps",
     [](const std::string& d) -> SourcePtr {
       FixedLengthOptions options{.files = {d + "/a.bin", d + "/b.bin"}, .record_bytes = 1};
       options.hop_bytes = 4;
       options.buffer_bytes = 2;
       return std::make_unique<FixedLengthSource>(options);
     }},
    {"WholeFiles",
     [](const std::string& d) -> SourcePtr {
       return std::make_unique<WholeFileSource>(WholeFileOptions{.files = {d + "/*.txt*"}});
     }},
    {"TFRecords",
     [](const std::string& d) -> SourcePtr {
       return std::make_unique<TFRecordSource>(
           TFRecordOptions{.files = {d + "/*.tfrecord*"}, .buffer_bytes = 20});
     }},
    {"ZlibTFRecords",
     [](const std::string& d) -> SourcePtr {
       return std::make_unique<TFRecordSource>(
           TFRecordOptions{.files = {d + "/d.zlib"}, .compression = Compression::zlib});
     }},
    {"Csv",
     [](const std::string& d) {
       return csv(d, {"a.csv", "b.csv"});
     }},
    {"CsvRepeatedInAnotherOrder",
     [](const std::string& d) {
       return repeat(csv(d, {"a.csv", "b.csv"}, 1 << 20), true);
     }},
    {"ShardOfCsv",
     [](const std::string& d) {
       return shard(csv(d, {"a.csv", "b.csv"}), 1, 2);
     }},
    {"InterleaveOfCsv",
     [](const std::string& d) -> SourcePtr {
       return std::make_unique<InterleaveSource>(
           2, [d](std::size_t i) { return csv(d, {i == 0 ? "a.csv" : "b.csv"}); }, "two files",
           InterleaveOptions{2, 2});
     }},
    {"LabelledFiles", [](const std::string& d) { return listed_files(d); }},
    {"LabelledFilesRepeatedInAnotherOrder",
     [](const std::string& d) { return repeat(listed_files(d), true); }},
    {"ZipOfCsvAndLines",
     [](const std::string& d) {
       return zip(csv(d, {"a.csv", "b.csv"}), lines(d, {"long.txt"}, 64));
     }},
    {"Zip",
     [](const std::string& d) {
       return zip(lines(d, {"a.txt", "d.txt"}, 8), lines(d, {"long.txt"}, 64));
     }},
    {"ZipOfZipAndInterleave",
     [](const std::string& d) {
       return zip(zip(lines(d, {"long.txt"}), lines(d, {"d.txt", "a.txt"}, 8)),
                  interleave(d, 2, 1));
     }},
    {"ZipOfRepeats",
     [](const std::string& d) {
       return zip(repeat(lines(d, {"a.txt"})), repeat(lines(d, {"c.txt", "d.txt"}), true));
     }},
    {"RepeatInAnotherOrder",
     [](const std::string& d) {
       return repeat(lines(d, {"a.txt", "b.txt", "c.txt", "d.txt"}), true);
     }},
    {"RepeatOfRepeat",
     [](const std::string& d) {
       return repeat(repeat(lines(d, {"c.txt", "a.txt"}, 4), true));
     }},
    {"RepeatOfZip",
     [](const std::string& d) {
       return repeat(zip(lines(d, {"a.txt", "d.txt"}, 8), lines(d, {"c.txt", "long.txt"})), true);
     }},
    {"InterleaveOfOne", [](const std::string& d) { return interleave(d, 1, 1); }},
    {"InterleaveInBlocks", [](const std::string& d) { return interleave(d, 3, 2); }},
    {"InterleaveOfAll", [](const std::string& d) { return interleave(d, 9, 4); }},
    {"RepeatOfInterleave", [](const std::string& d) { return repeat(interleave(d, 2, 3), true); }},
    {"InterleaveOfZips",
     [](const std::string& d) -> SourcePtr {
       return std::make_unique<InterleaveSource>(
           3,
           [d](std::size_t i) {
             return zip(lines(d, {i == 1 ? "c.txt" : "d.txt"}), lines(d, {"a.txt"}, 4));
           },
           "three zips", InterleaveOptions{2, 2});
     }},
    {"Shard",
     [](const std::string& d) {
       return shard(lines(d, {"a.txt", "c.txt", "d.txt"}, 8), 1, 3);
     }},
    {"ShardOfInterleaveRepeated",
     [](const std::string& d) { return repeat(shard(interleave(d, 2, 1), 0, 2), true); }},
    {"ShardOfZip",
     [](const std::string& d) {
       return shard(zip(lines(d, {"d.txt"}), lines(d, {"long.txt"}, 64)), 3, 4);
     }},
};

class SourcePositions : public ::testing::TestWithParam<NamedSource> {
 protected:
  SourcePositions() { write_files(directory); }
  SourcePtr make() const { return GetParam().make(directory.path()); }

  test::TemporaryDirectory directory;
};

TEST_P(SourcePositions, GoOnExactlyAtEveryRecord) {
  const auto source = make();
  const auto all = test::read_with_places(*source);
  ASSERT_GT(all.size(), 1u);
  source->restart({});
  std::vector<RecordRun> runs;
  for (std::size_t done = 0; done <= all.size(); ++done) {
    const auto position = source->position();
    ASSERT_EQ(SourcePosition::parse(position.str()), position);
    const auto other = make();
    other->seek(position);
    const auto third = make();
    third->seek(other->position());
    ASSERT_EQ(
        test::read_with_places(*third, {.records = 1 + done % 5}),
        (std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(done), all.end())))
        << "after " << done << " records, at " << position.str();
    ASSERT_EQ(source->read(runs, {.records = 1}), done < all.size());
  }
}

TEST_P(SourcePositions, GoOnBehindAnyBlockAndInASourceThatIsElsewhere) {
  const auto source = make();
  const auto all = test::read_with_places(*source);
  const auto other = make();
  for (std::size_t block = 1; block < 8; ++block) {
    source->restart({});
    std::vector<RecordRun> runs;
    std::size_t done = 0;
    while (source->read(runs, {.records = block, .bytes = 40, .cross_files = block % 2 == 0})) {
      ASSERT_LE(runs.at(0).count(), block);
      done += runs[0].count();
      other->seek(source->position());
      ASSERT_EQ(
          test::read_with_places(*other),
          (std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(done), all.end())));
    }
    EXPECT_EQ(done, all.size());
  }
}

TEST_P(SourcePositions, GiveTheSameRecordsInBlocksOfAnySize) {
  const auto source = make();
  const auto all = test::read_with_places(*source);
  for (const std::size_t records : {1, 2, 3, 1000})
    for (const std::size_t bytes : {1, 20, 1 << 20})
      for (const bool cross : {false, true}) {
        source->restart({});
        EXPECT_EQ(test::read_with_places(*source, {records, bytes, cross}), all);
      }
}

TEST_P(SourcePositions, CutTheRecordsInPieces) {
  const auto source = make();
  const auto all = test::read_with_places(*source);
  if (source->pieces() < 2) return;
  ASSERT_LT(source->pieces(), 100u);
  std::vector<std::string> together;
  for (std::uint64_t piece = 0; piece < source->pieces(); ++piece) {
    const auto whole = make();
    whole->seek(source->piece(piece));
    const auto records = test::read_with_places(*whole, {.within_piece = true});
    together.insert(together.end(), records.begin(), records.end());
    // Half a piece, and what is left of it in another source.
    for (std::size_t done = 0; done <= records.size(); ++done) {
      const auto first = make();
      first->seek(source->piece(piece));
      std::vector<RecordRun> runs;
      for (std::size_t i = 0; i < done; ++i)
        ASSERT_TRUE(first->read(runs, {.records = 1, .within_piece = true}));
      ASSERT_EQ(source->piece_of(first->position()), piece) << first->position().str();
      const auto second = make();
      second->seek(first->position());
      EXPECT_EQ(test::read_with_places(*second, {.records = 2, .within_piece = true}),
                (std::vector<std::string>(records.begin() + static_cast<std::ptrdiff_t>(done),
                                          records.end())));
    }
  }
  EXPECT_EQ(together, all);
}

TEST_P(SourcePositions, AreRefusedOrReadWhateverTheySay) {
  std::mt19937 random(17);
  const auto position = make()->position();
  for (int round = 0; round < 60; ++round) {
    auto wrong = position;
    for (auto& stream : wrong.streams) {
      const auto odd = [&](std::uint64_t value) -> std::uint64_t {
        switch (random() % 4) {
          case 0:
            return random() % 12;
          case 1:
            return ~std::uint64_t{0} - random() % 3;
          default:
            return value;
        }
      };
      stream = {odd(stream.file), odd(stream.offset),
                static_cast<std::int64_t>(odd(static_cast<std::uint64_t>(stream.record))),
                odd(stream.skip)};
    }
    if (random() % 8 == 0) wrong.streams.resize(random() % 4);
    const auto source = make();
    try {
      source->seek(wrong);
      std::vector<RecordRun> runs;
      for (int i = 0; i < 100 && source->read(runs, {}); ++i) {
      }
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Code::internal) << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, SourcePositions, ::testing::ValuesIn(kSources),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace troupe
