#include "troupe/actors/pipeline/libsvm.h"

#include "troupe/actors/pipeline/records_of.h"
#include "troupe/actors/readers/data_line_source.h"

namespace troupe {
namespace {

struct LibsvmSource : DataLineSource {
  explicit LibsvmSource(const TextLineOptions& options)
      : DataLineSource(options, holds_libsvm_example) {}
};

}  // namespace

Records read_libsvm(const TextLineOptions& options) {
  return splittable<LibsvmSource>(options.files, options,
                                  [options](const auto& path, std::size_t count) {
                                    return split_lines(path, count, options.skip_header_lines);
                                  });
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
