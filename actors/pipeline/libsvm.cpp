#include "troupe/actors/pipeline/libsvm.h"

#include "troupe/actors/readers/data_line_source.h"

namespace troupe {

Records read_libsvm(const TextLineOptions& options) {
  const DataLineSource probe(options, holds_libsvm_example);  // complains about missing files
  return {[options] { return std::make_unique<DataLineSource>(options, holds_libsvm_example); },
          probe.describe()};
}

Records read_libsvm(const std::vector<std::string>& files) {
  TextLineOptions options;
  options.files = files;
  return read_libsvm(options);
}

DecoderFactory libsvm(const LibsvmDecoderOptions& options) {
  return [options] { return std::make_shared<LibsvmDecoder>(options); };
}

DecoderFactory libsvm_dense(std::int64_t features) {
  LibsvmDecoderOptions options;
  options.features = features;
  return libsvm(options);
}

DecoderFactory libsvm_sparse() {
  LibsvmDecoderOptions options;
  options.sparse = true;
  return libsvm(options);
}

}  // namespace troupe
