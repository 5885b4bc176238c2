#include "troupe/actors/pipeline/arrays.h"

#include "troupe/actors/readers/file_list.h"
#include "troupe/ops/error.h"

namespace troupe {

Records read_arrays(const FilesOptions& options, const ArrayFormat& format) {
  const ArraySource probe(options, format);  // complains at once about what cannot be read
  return {[=] { return std::make_unique<ArraySource>(options, format); }, probe.describe(),
          probe.header().count};
}

Records read_npy(const std::vector<std::string>& files) {
  return read_arrays({.files = files}, npy_format());
}

Records read_npz(const std::string& file, const std::vector<std::string>& arrays) {
  if (arrays.empty()) fail(Code::invalid_argument, "say which arrays of ", file, " are to be read");
  const auto read = [&](const std::string& array) {
    return read_arrays({.files = {file}}, npy_format(array));
  };
  auto records = read(arrays[0]);
  for (std::size_t i = 1; i < arrays.size(); ++i) records = records.zip(read(arrays[i]));
  return records;
}

DecoderFactory array_items(const ArrayHeader& header, const ArrayDecoderOptions& options) {
  return [=] { return std::make_shared<ArrayDecoder>(header, options); };
}

DecoderFactory npy_rows(const std::string& file, const ArrayDecoderOptions& options) {
  return npz_rows(file, {}, options);
}

DecoderFactory npz_rows(const std::string& file, const std::string& array,
                        const ArrayDecoderOptions& options) {
  return array_items(open_npy(expand_files({file})[0], array).header, options);
}

}  // namespace troupe
