#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/decoders/libsvm_decoder.h"
#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/readers/text_line_source.h"

namespace troupe {

/// Examples in LIBSVM's sparse text: the lines of these files, paths or patterns,
/// without those that are blank or a comment.
Records read_libsvm(const std::vector<std::string>& files);
Records read_libsvm(const TextLineOptions& options);

/// Lines as {features, label}: float32 [features] and a float32 scalar.
DecoderFactory libsvm_dense(std::int64_t features);
/// Lines as {indices, values, label}: int64 [?] from 0, float32 [?], a float32 scalar.
DecoderFactory libsvm_sparse();
DecoderFactory libsvm(const LibsvmDecoderOptions& options);

}  // namespace troupe
