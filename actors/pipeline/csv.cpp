#include "troupe/actors/pipeline/csv.h"

#include "troupe/actors/pipeline/records_of.h"
#include "troupe/actors/readers/input_file.h"
#include "troupe/actors/readers/text_line_source.h"

namespace troupe {

Records read_csv(const std::vector<std::string>& files, const CsvOptions& options) {
  return splittable<CsvSource>(files, options, [options](const auto& path, std::size_t count) {
    return split_lines(path, count, options.skip_lines + (options.header ? 1 : 0));
  });
}

FileOpener csv_records(const CsvOptions& options) { return opener_of<CsvSource>(options); }

std::vector<std::string> csv_header(const std::vector<std::string>& files, CsvOptions options) {
  options.files = files;
  options.header = true;
  options.allow_empty = true;
  for (const auto& file : files) expect_readable_again(file);
  CsvSource source(options);
  std::vector<RecordRun> first;
  source.read(first, {.records = 1});
  if (source.header().empty())
    fail(Code::invalid_argument, "no header in ", source.describe(), ": all of them are empty");
  return source.header();
}

std::vector<std::string> csv_vocabulary(const std::string& file) {
  TextLineSource source({.files = {file}});
  std::vector<std::string> words;
  std::vector<RecordRun> runs;
  while (source.read(runs, {}))
    for (std::size_t i = 0; i < runs[0].count(); ++i)
      words.emplace_back(runs[0].begin(i), runs[0].end(i));
  return words;
}

DecoderFactory csv_columns(std::vector<CsvComponent> components, CsvDecoderOptions options) {
  const CsvDecoder probe(components, options);  // complains at once about what cannot be
  return [components = std::move(components), options = std::move(options)] {
    return std::make_shared<CsvDecoder>(components, options);
  };
}

}  // namespace troupe
