#pragma once

#include <string>
#include <vector>

#include "troupe/actors/decoders/csv_decoder.h"
#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/readers/csv_source.h"
#include "troupe/actors/readers/queue_reader.h"

namespace troupe {

// Columns that are found by their names, two tensors for each example:
//
//   const std::vector<std::string> files = {"houses-*.csv"};
//   read_csv(files, {.header = true})
//       .decode({csv_columns(
//           {csv::stack("features", {csv::required<float>("rooms"),
//                                    csv::with_default("age", -1.0f)}),
//            csv::category("city", {"Rome", "Paris"}, csv::unknown_id(2))},
//           {.header = csv_header(files)})})
//       .shuffle({}).batch(100, Remainder::drop)

/// The records of CSV files: paths or patterns ("data/part-*.csv"); the files are
/// read one after the other. Throws at once for what is not there, as the policy
/// says. CsvOptions::files is not used.
Records read_csv(const std::vector<std::string>& files, const CsvOptions& options = {});
/// What opens one file, for interleave and queue_reader.
FileOpener csv_records(const CsvOptions& options = {});

/// The names in the first record of the first of the files that is not empty.
std::vector<std::string> csv_header(const std::vector<std::string>& files, CsvOptions options = {});

/// The lines of a file, for csv::category.
std::vector<std::string> csv_vocabulary(const std::string& file);

/// Tensors from CSV records, one for each component: a column or csv::stack of
/// several. Throws at once for columns that are not in the header, and the like.
DecoderFactory csv_columns(std::vector<CsvComponent> components, CsvDecoderOptions options = {});

}  // namespace troupe
