// Every reader of Troupe's own is put through the contract of readers.
#include <gtest/gtest.h>

#include <memory>

#include "actors/readers/gzip_file.h"
#include "actors/readers/idx_bytes.h"
#include "support/temporary_directory.h"
#include "troupe/actors/decoders/libsvm_decoder.h"
#include "troupe/actors/readers/array_source.h"
#include "troupe/actors/readers/csv_source.h"
#include "troupe/actors/readers/data_line_source.h"
#include "troupe/actors/readers/fixed_length_source.h"
#include "troupe/actors/readers/idx_format.h"
#include "troupe/actors/readers/npy_format.h"
#include "troupe/actors/readers/repeat_source.h"
#include "troupe/actors/readers/text_line_source.h"
#include "troupe/actors/readers/tfrecord_source.h"
#include "troupe/actors/readers/tfrecord_writer.h"
#include "troupe/actors/readers/whole_file_source.h"
#include "troupe/actors/readers/zip_source.h"
#include "troupe/testing/reader_contract.h"

namespace troupe {
namespace {

using contract::reader_of;
using contract::ReaderSubject;

/// Files that last as long as the sources that are made of them.
class Files {
 public:
  std::string add(const std::string& name, const std::string& bytes) const {
    test::write_file(*directory_ / name, bytes);
    return *directory_ / name;
  }
  std::string zipped(const std::string& name, const std::string& bytes) const {
    test::write_gzip(*directory_ / name, bytes);
    return *directory_ / name;
  }

 private:
  std::shared_ptr<test::TemporaryDirectory> directory_ =
      std::make_shared<test::TemporaryDirectory>();
};

/// A factory of sources of type Source, with a file set that lives as long.
template <class Source, class... Arguments>
SourceFactory source(const Files& files, Arguments... arguments) {
  return [files, arguments...] { return std::make_unique<Source>(arguments...); };
}

std::string lines(int first, int last, const std::string& end = "\n") {
  std::string text;
  for (int i = first; i <= last; ++i) text += "line " + std::to_string(i) + end;
  return text;
}

ReaderSubject text_lines() {
  const Files files;
  TextLineOptions options;
  options.files = {files.add("a.txt", "header\n" + lines(1, 9)), files.add("b.txt", "header\n"),
                   files.zipped("c.gz", "header\n" + lines(10, 14, "\r\n") + "\n\nthe end")};
  options.skip_header_lines = 1;
  options.buffer_bytes = 16;
  auto damaged = options;
  damaged.files = {files.add("long.txt", lines(1, 9) + std::string(100, 'x'))};
  damaged.max_line_bytes = 50;
  return reader_of(source<TextLineSource>(files, options), source<TextLineSource>(files, damaged));
}

ReaderSubject idx_items() {
  const Files files;
  FilesOptions options;
  options.files = {files.add("a.idx", test::idx_bytes(0x08, {6, 2}, "aabbccddeeff")),
                   files.zipped("b.gz", test::idx_bytes(0x08, {4, 2}, "gghhiijj"))};
  auto damaged = options;
  damaged.files = {files.zipped("short.gz", test::idx_bytes(0x08, {4, 2}, "gghhi"))};
  return reader_of(source<ArraySource>(files, options, idx_format()),
                   source<ArraySource>(files, damaged, idx_format()));
}

ReaderSubject arrays(const std::string& file, const std::string& member) {
  FilesOptions options;
  options.files = {std::string(TROUPE_TEST_DATA "/arrays/") + file,
                   std::string(TROUPE_TEST_DATA "/arrays/") + file};
  return reader_of(source<ArraySource>(Files(), options, npy_format(member)));
}

std::string examples(int first, int last) {
  std::string text = "# examples\n\n";
  for (int i = first; i <= last; ++i)
    text += "1 " + std::to_string(i) + ":0.5\n" + (i % 3 == 0 ? "\n# another one\n" : "");
  return text;
}

ReaderSubject libsvm_lines() {
  const Files files;
  TextLineOptions options;
  options.files = {files.add("a.txt", examples(1, 10)), files.add("b.txt", "# nothing\n"),
                   files.add("c.txt", examples(11, 15))};
  options.buffer_bytes = 64;
  auto damaged = options;
  damaged.files = {files.add("empty.txt", "# nothing\n\n")};
  return reader_of([=] { return std::make_unique<DataLineSource>(options, holds_libsvm_example); },
                   [=] {
                     (void)files;
                     return std::make_unique<DataLineSource>(damaged, holds_libsvm_example);
                   });
}

std::unique_ptr<RecordSource> zip(const TextLineOptions& text, const FilesOptions& items) {
  std::vector<std::unique_ptr<RecordSource>> both;
  both.push_back(std::make_unique<TextLineSource>(text));
  both.push_back(std::make_unique<ArraySource>(items, idx_format()));
  return std::make_unique<ZipSource>(std::move(both));
}

ReaderSubject zipped() {
  const Files files;
  TextLineOptions text;
  text.files = {files.add("a.txt", lines(1, 4)), files.add("b.txt", lines(5, 10))};
  text.buffer_bytes = 16;
  FilesOptions items;
  items.files = {files.add("a.idx", test::idx_bytes(0x08, {4, 2}, "aabbccdd")),
                 files.add("b.idx", test::idx_bytes(0x08, {6, 2}, "eeffgghhiijj"))};
  auto shorter = text;
  shorter.files.pop_back();
  return reader_of([=] { return (void)files, zip(text, items); },
                   [=] { return (void)files, zip(shorter, items); });
}

ReaderSubject repeated() {
  const Files files;
  TextLineOptions text;
  for (int i = 0; i < 4; ++i) {
    const auto name = std::to_string(i) + ".txt";
    text.files.push_back(files.add(name, lines(10 * i, 10 * i + i)));
  }
  RepeatOptions options;
  options.epochs = 3;
  options.shuffle_files = true;
  return reader_of([=] {
    (void)files;
    return std::make_unique<RepeatSource>(std::make_unique<TextLineSource>(text), options);
  });
}

ReaderSubject csv_records() {
  const Files files;
  CsvOptions options;
  options.files = {files.add("a.csv", "x,y\n1,2\n\"3\n4\",5\n6,7\n"),
                   files.add("b.csv", "x,y\n8,\"\"\"9\"\n" + lines(1, 8))};
  options.header = true;
  options.buffer_bytes = 16;
  auto damaged = options;
  damaged.files = {files.add("open.csv", "x,y\n1,2\n\"3,4\n")};
  return reader_of(source<CsvSource>(files, options), source<CsvSource>(files, damaged));
}

ReaderSubject tfrecords() {
  const Files files;
  const auto write = [&](const std::string& name, int first, int last) {
    const auto path = files.add(name, "");
    TFRecordWriter writer(path);
    for (int i = first; i <= last; ++i) writer.write("record " + std::to_string(i));
    writer.close();
    return path;
  };
  TFRecordOptions options;
  options.files = {write("a.tfrecord", 1, 7), write("b.tfrecord", 8, 11)};
  options.buffer_bytes = 64;
  auto damaged = options;
  const auto whole = test::read_file(options.files[1]);
  damaged.files = {files.add("torn.tfrecord", whole.substr(0, whole.size() - 3))};
  return reader_of(source<TFRecordSource>(files, options), source<TFRecordSource>(files, damaged));
}

ReaderSubject fixed_lengths() {
  const Files files;
  FixedLengthOptions options;
  options.files = {files.add("a.bin", "head" + std::string("aabbccddeeff")),
                   files.add("b.bin", "head" + std::string("gghhiijj"))};
  options.record_bytes = 2;
  options.header_bytes = 4;
  options.buffer_bytes = 8;
  auto damaged = options;
  damaged.files = {files.add("torn.bin", "headaabbc")};
  return reader_of(source<FixedLengthSource>(files, options),
                   source<FixedLengthSource>(files, damaged));
}

ReaderSubject whole_files() {
  const Files files;
  WholeFileOptions options;
  for (int i = 0; i < 10; ++i)
    options.files.push_back(
        files.add(std::to_string(i), std::string(static_cast<std::size_t>(i), 'x')));
  auto damaged = options;
  damaged.max_file_bytes = 5;
  return reader_of(source<WholeFileSource>(files, options),
                   source<WholeFileSource>(files, damaged));
}

TROUPE_READER_CONTRACT(TextLines, text_lines());
TROUPE_READER_CONTRACT(CsvRecords, csv_records());
TROUPE_READER_CONTRACT(TFRecords, tfrecords());
TROUPE_READER_CONTRACT(FixedLengthRecords, fixed_lengths());
TROUPE_READER_CONTRACT(WholeFiles, whole_files());
TROUPE_READER_CONTRACT(IdxItems, idx_items());
TROUPE_READER_CONTRACT(NpyRows, arrays("float64_big.npy", ""));
TROUPE_READER_CONTRACT(StoredNpzRows, arrays("stored.npz", "images"));
TROUPE_READER_CONTRACT(DeflatedNpzRows, arrays("deflated.npz", "labels"));
TROUPE_READER_CONTRACT(LibsvmLines, libsvm_lines());
TROUPE_READER_CONTRACT(ZippedSources, zipped());
TROUPE_READER_CONTRACT(RepeatedSources, repeated());

}  // namespace
}  // namespace troupe
