#include "troupe/actors/pipeline/csv.h"

namespace troupe {

Records read_csv(const std::vector<std::string>& files, CsvOptions options) {
  options.files = files;
  const CsvSource probe(options);  // complains at once about what is not there
  return {[options] { return std::make_unique<CsvSource>(options); }, probe.describe()};
}

std::vector<std::string> csv_header(const std::vector<std::string>& files, CsvOptions options) {
  options.files = files;
  options.header = true;
  return CsvSource(options).header();
}

DecoderFactory csv_columns(std::vector<CsvComponent> components, CsvDecoderOptions options) {
  const CsvDecoder probe(components, options);  // complains at once about what cannot be
  return [components = std::move(components), options = std::move(options)] {
    return std::make_shared<CsvDecoder>(components, options);
  };
}

}  // namespace troupe
