// Bytes that nobody promised anything about: every format reads them or refuses them.

#include <gtest/gtest.h>

#include <random>

#include "actors/readers/record_files.h"
#include "troupe/actors/readers/array_source.h"
#include "troupe/actors/readers/csv_source.h"
#include "troupe/actors/readers/fixed_length_source.h"
#include "troupe/actors/readers/idx_format.h"
#include "troupe/actors/readers/text_line_source.h"
#include "troupe/actors/readers/tfrecord_format.h"
#include "troupe/actors/readers/tfrecord_source.h"
#include "troupe/actors/readers/whole_file_source.h"

namespace troupe {
namespace {

struct Format {
  const char* name;
  std::unique_ptr<RecordSource> (*open)(const std::string& path, Compression compression);
};

const Format kFormats[] = {
    {"Lines",
     [](const std::string& path, Compression compression) -> std::unique_ptr<RecordSource> {
       TextLineOptions options{.files = {path}, .max_line_bytes = 5000, .buffer_bytes = 64};
       options.compression = compression;
       return std::make_unique<TextLineSource>(options);
     }},
    {"Csv",
     [](const std::string& path, Compression) -> std::unique_ptr<RecordSource> {
       return std::make_unique<CsvSource>(
           CsvOptions{.files = {path}, .max_record_bytes = 5000, .buffer_bytes = 64});
     }},
    {"FixedLength",
     [](const std::string& path, Compression compression) -> std::unique_ptr<RecordSource> {
       FixedLengthOptions options{.files = {path}, .record_bytes = 7, .header_bytes = 3};
       options.compression = compression;
       return std::make_unique<FixedLengthSource>(options);
     }},
    {"WholeFiles",
     [](const std::string& path, Compression compression) -> std::unique_ptr<RecordSource> {
       return std::make_unique<WholeFileSource>(
           WholeFileOptions{.files = {path}, .max_file_bytes = 4000, .compression = compression});
     }},
    {"TFRecords",
     [](const std::string& path, Compression compression) -> std::unique_ptr<RecordSource> {
       return std::make_unique<TFRecordSource>(
           TFRecordOptions{.files = {path}, .compression = compression, .buffer_bytes = 64});
     }},
    {"Idx",
     [](const std::string& path, Compression) -> std::unique_ptr<RecordSource> {
       return std::make_unique<ArraySource>(FilesOptions{.files = {path}}, idx_format());
     }},
};

class HostileFiles : public ::testing::TestWithParam<Format> {
 protected:
  /// Reads what can be read; records that are given out lie inside their buffers.
  std::size_t read(const std::string& bytes, Compression compression) {
    test::write_file(directory / "x", bytes);
    std::size_t count = 0;
    try {
      const auto source = GetParam().open(directory / "x", compression);
      std::vector<RecordRun> runs;
      while (source->read(runs, {.records = 10})) {
        const auto& run = runs.at(0);
        for (std::size_t i = 0; i < run.count(); ++i) {
          EXPECT_GE(run.begins[i], 64u);
          EXPECT_LE(run.begins[i], run.ends[i]);
          EXPECT_LE(run.ends[i] + 64, static_cast<std::uint64_t>(run.bytes.size()));
        }
        count += run.count();
      }
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Code::internal) << error.what();
      EXPECT_NE(std::string(error.what()).find("/x"), std::string::npos) << error.what();
    }
    return count;
  }
  static std::string good_bytes() {
    std::string bytes;
    for (int i = 0; i < 30; ++i)
      append_tfrecord(bytes, std::string(static_cast<std::size_t>(i * 5 % 37), 'a') + "\n");
    return bytes;
  }

  test::TemporaryDirectory directory;
};

TEST_P(HostileFiles, AreReadOrRefusedWhenTheyAreRandom) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::string bytes(random() % 400, '\0');
    for (auto& c : bytes) c = static_cast<char>(random());
    for (const auto compression : {Compression::none, Compression::gzip, Compression::zlib}) {
      read(bytes, compression);
      if (compression == Compression::none) continue;
      read(test::compressed(bytes, compression == Compression::gzip), compression);
    }
  }
}

TEST_P(HostileFiles, AreReadAsFarAsTheyGoWhenTheyAreCutShort) {
  const auto bytes = good_bytes();
  std::size_t most = 0;
  for (std::size_t size = 0; size <= bytes.size(); size += 5) {
    const auto count = read(bytes.substr(0, size), Compression::none);
    if (std::string_view(GetParam().name) != "WholeFiles") {
      EXPECT_GE(count, most);
    }
    most = count;
  }
  const auto gzip = test::compressed(bytes, true);
  for (std::size_t size = 0; size <= gzip.size(); size += 3)
    read(gzip.substr(0, size), Compression::gzip);
}

TEST_P(HostileFiles, AreReadOrRefusedWhenBitsHaveFlipped) {
  std::mt19937 random(2);
  for (const auto compression : {Compression::none, Compression::gzip, Compression::zlib}) {
    const auto bytes = compression == Compression::none
                           ? good_bytes()
                           : test::compressed(good_bytes(), compression == Compression::gzip);
    for (int round = 0; round < 60; ++round) {
      auto damaged = bytes;
      for (auto flips = 1 + random() % 3; flips > 0; --flips)
        damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
      read(damaged, compression);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, HostileFiles, ::testing::ValuesIn(kFormats),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace troupe
