#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "troupe/actors/decoders/csv_decoder.h"
#include "troupe/actors/readers/record_buffer.h"

namespace troupe::test {

/// Records as a reader would hand them out, the first in line `line` of "a.csv".
inline RecordRun csv_run(const std::vector<std::string>& records, std::int64_t line = 1) {
  RecordRun run;
  std::string bytes;
  for (const auto& record : records) {
    run.begins.push_back(static_cast<std::uint32_t>(kRecordPadding + bytes.size()));
    bytes += record;
    run.ends.push_back(static_cast<std::uint32_t>(kRecordPadding + bytes.size()));
    bytes += '\n';
  }
  run.bytes = record_buffer(bytes.size());
  std::copy(bytes.begin(), bytes.end(), record_data(run.bytes));
  run.file = "a.csv";
  run.first_record = line;
  run.by_lines = true;
  return run;
}

/// The tensors of one record.
inline Element decode_csv(std::string_view record, std::vector<CsvComponent> components,
                          CsvDecoderOptions options = {}) {
  CsvDecoder decoder(std::move(components), std::move(options));
  Element element;
  decoder.decode(csv_run({std::string(record)}), 0, element);
  return element;
}

/// The fields of a record as strings; empty ones are fine.
inline std::vector<std::string> csv_fields(std::string_view record, std::size_t count,
                                           CsvDecoderOptions options = {}) {
  std::vector<CsvColumn> columns(count, csv::with_default("", ""));
  const auto element = decode_csv(record, {csv::stack("fields", columns)}, std::move(options));
  const auto fields = element[0].read<std::string>();
  return {fields.begin(), fields.end()};
}

}  // namespace troupe::test
