#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/actors/decoders/record_decoder.h"

namespace troupe {

struct LibsvmDecoderOptions {
  /// So many features there are; larger indices are an error. 0 for no bound, with
  /// sparse elements only.
  std::int64_t features = 0;
  bool sparse = false;            ///< indices and values instead of all features
  bool zero_based = false;        ///< the first feature has the index 0, not 1
  DType label = DType::float32;   ///< float32 or int64
  bool ignore_query_id = false;   ///< qid:7 is left out; otherwise it is an error
  bool allow_non_finite = false;  ///< nan, inf and what is too large for float32 are fine
};

/// Lines of LIBSVM's sparse text (also called SVMlight's),
///
///   label index:value index:value ... # a comment
///
/// with indices that grow from left to right, as tensors:
///
///   features  float32 [features]   0 where the line says nothing
///   label     scalar
///
/// or, when sparse, with indices that start at 0 whatever stands in the file:
///
///   indices   int64 [?]
///   values    float32 [?]
///   label     scalar
///
/// decode throws invalid_argument:
///
///   a9a.txt:17:12: "x" is not a value
///   a9a.txt:18:4: index 0 is not one from 1 to 123 (LibsvmDecoderOptions::zero_based,
///                 features)
class LibsvmDecoder : public RecordDecoder {
 public:
  /// More features than this are not decoded to dense elements.
  static constexpr std::int64_t kMostDense = std::int64_t{1} << 28;

  /// Throws invalid_argument for another dtype or number of features.
  explicit LibsvmDecoder(LibsvmDecoderOptions options);

  std::vector<QueueComponent> components() const override;
  void decode(const RecordRun& run, std::size_t i, Element& element) override;

 private:
  class Line;
  void parse(Line& line);

  LibsvmDecoderOptions options_;
  Tensor label_;                       // of the line that was parsed last
  std::vector<std::int64_t> indices_;  // from 0
  std::vector<float> values_;
};

/// Whether a line holds an example: it is not blank and not all comment.
bool holds_libsvm_example(std::string_view line);

}  // namespace troupe
