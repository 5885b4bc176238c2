#pragma once

#include <string>
#include <vector>

#include "troupe/actors/readers/record_source.h"

namespace troupe::test {

/// The records of one stream of a source, as strings, to its end.
inline std::vector<std::string> read_all(RecordSource& source, const BlockLimits& limits = {},
                                         std::size_t stream = 0) {
  std::vector<std::string> records;
  std::vector<RecordRun> runs;
  while (source.read(runs, limits)) {
    const auto& run = runs.at(stream);
    for (std::size_t i = 0; i < run.count(); ++i) records.emplace_back(run.begin(i), run.end(i));
  }
  return records;
}

/// Where the records of one stream stand: "a.txt:3".
inline std::vector<std::string> read_places(RecordSource& source, std::size_t stream = 0) {
  std::vector<std::string> places;
  std::vector<RecordRun> runs;
  while (source.read(runs, {}))
    for (std::size_t i = 0; i < runs.at(stream).count(); ++i)
      places.push_back(runs[stream].place(i));
  return places;
}

}  // namespace troupe::test
