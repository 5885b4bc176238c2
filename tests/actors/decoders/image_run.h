#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "support/temporary_directory.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/messages/payloads.h"

namespace troupe::test {

/// The bytes of a file in tests/data/images.
inline std::string image_file(const std::string& name) {
  return read_file(std::string(TROUPE_TEST_DATA) + "/images/" + name);
}

/// Records of a file called "x", numbered from 1, with the bytes given.
inline RecordRun run_of(const std::vector<std::string>& records) {
  RecordRun run;
  run.file = "x";
  std::string bytes;
  for (const auto& record : records) {
    run.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + bytes.size()));
    bytes += record;
    run.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + bytes.size()));
  }
  run.bytes = record_buffer(bytes.size());
  std::copy(bytes.begin(), bytes.end(), record_data(run.bytes));
  return run;
}

}  // namespace troupe::test
