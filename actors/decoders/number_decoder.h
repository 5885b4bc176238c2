#pragma once

#include <string>

#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/ops/shape.h"
#include "troupe/ops/simd/number_decoder.h"

namespace troupe {

struct NumberDecoderOptions {
  Shape shape;                   ///< of one element: {20, 195, 1} needs 3900 numbers a line
  DType dtype = DType::float32;  ///< float32 or int64
  char delimiter = ' ';
  bool merge_delimiters = false;   ///< several in a row count as one
  bool trailing_delimiter = true;  ///< one may follow the last number
  bool allow_non_finite = false;   ///< nan, inf and what is too large for float32 are fine
  std::string name{};              ///< of the component, for messages
};

/// Lines of numbers with something between them, as one tensor each.
///
/// decode throws invalid_argument:
///
///   features.txt:1532:17: field 4: "N/A" is not a number
///   labels.txt:8:29: got 14 fields, expected 15 (shape [15])
///   labels.txt:9: field 3 is nan, which training cannot use
class NumberDecoder : public RecordDecoder {
 public:
  /// Throws invalid_argument for another dtype or an unknown extent.
  explicit NumberDecoder(NumberDecoderOptions options);

  std::vector<QueueComponent> components() const override;
  void decode(const RecordRun& run, std::size_t i, Element& element) override;

 private:
  static void expect_finite(const Tensor& row, const RecordRun& run, std::size_t i);

  NumberDecoderOptions options_;
  simd::DecodeOptions fields_;
  std::int64_t count_ = 0;
};

}  // namespace troupe
