#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/temporary_directory.h"
#include "troupe/actors/readers/deflater.h"
#include "troupe/actors/readers/record_source.h"
#include "troupe/actors/readers/tfrecord_writer.h"

namespace troupe::test {

/// A record with where it stands: "a.txt:3 the third line", without the directory.
inline std::vector<std::string> read_with_places(RecordSource& source,
                                                 const BlockLimits& limits = {}) {
  std::vector<std::string> records;
  std::vector<RecordRun> runs;
  while (source.read(runs, limits)) {
    for (std::size_t i = 0; i < runs.at(0).count(); ++i) {
      std::string words;
      for (const auto& run : runs) {
        const auto place = run.place(i);
        words += place.substr(place.rfind('/') + 1) + " " + std::string(run.begin(i), run.end(i)) +
                 (runs.size() > 1 ? "|" : "");
      }
      records.push_back(words);
    }
  }
  return records;
}

inline std::string lines_of(const std::string& word, int count) {
  std::string bytes;
  for (int i = 1; i <= count; ++i) bytes += word + std::to_string(i) + "\n";
  return bytes;
}

inline std::string compressed(std::string_view bytes, bool gzip) {
  return Deflater(gzip).compress(bytes, true);
}

inline void write_tfrecords(const std::string& path, const std::vector<std::string>& records,
                            Compression compression = Compression::automatic) {
  TFRecordWriter writer(path, compression);
  for (const auto& record : records) writer.write(record);
  writer.close();
}

/// One of a list, to be made anew whenever it is needed.
using MakeSource = std::unique_ptr<RecordSource> (*)(const std::string& directory);
struct NamedSource {
  const char* name;
  MakeSource make;
};

}  // namespace troupe::test
