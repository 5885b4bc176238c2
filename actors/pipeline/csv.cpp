#include "troupe/actors/pipeline/csv.h"

#include "troupe/actors/readers/input_file.h"

namespace troupe {

Records read_csv(const std::vector<std::string>& files, CsvOptions options) {
  options.files = files;
  const CsvSource probe(options);  // complains at once about what is not there
  return {[options] { return std::make_unique<CsvSource>(options); }, probe.describe()};
}

FileOpener csv_records(CsvOptions options) {
  options.allow_empty = true;
  if (!options.policy.report) options.policy.report = std::make_shared<FileReport>();
  return [options](const std::string& path) {
    auto one = options;
    one.files = {path};
    return std::make_unique<CsvSource>(one);
  };
}

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

DecoderFactory csv_columns(std::vector<CsvComponent> components, CsvDecoderOptions options) {
  const CsvDecoder probe(components, options);  // complains at once about what cannot be
  return [components = std::move(components), options = std::move(options)] {
    return std::make_shared<CsvDecoder>(components, options);
  };
}

}  // namespace troupe
