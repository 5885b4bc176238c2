#include "troupe/actors/pipeline/arrays.h"

#include "troupe/actors/readers/file_list.h"
#include "troupe/ops/error.h"

namespace troupe {

Records read_npy(const NpyOptions& options) {
  const NpySource probe(options);  // complains at once about what cannot be read
  return {[options] { return std::make_unique<NpySource>(options); }, probe.describe(),
          probe.header().count};
}

Records read_npy(const std::vector<std::string>& files) {
  NpyOptions options;
  options.files = files;
  return read_npy(options);
}

Records read_npz(const std::string& file, const std::vector<std::string>& arrays) {
  if (arrays.empty()) fail(Code::invalid_argument, "say which arrays of ", file, " are to be read");
  const auto read = [&](const std::string& array) {
    NpyOptions options;
    options.files = {file};
    options.member = array;
    return read_npy(options);
  };
  auto records = read(arrays[0]);
  for (std::size_t i = 1; i < arrays.size(); ++i) records = records.zip(read(arrays[i]));
  return records;
}

DecoderFactory npy_rows(const std::string& file, const NpyDecoderOptions& options) {
  return npz_rows(file, {}, options);
}

DecoderFactory npz_rows(const std::string& file, const std::string& array,
                        const NpyDecoderOptions& options) {
  const auto header = read_npy_header(expand_files({file})[0], array);
  return [=] { return std::make_shared<NpyDecoder>(header, options); };
}

}  // namespace troupe
