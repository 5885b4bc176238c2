#pragma once

#include <string>

#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/actors/readers/idx_format.h"

namespace troupe {

struct IdxDecoderOptions {
  DType dtype = DType::float32;  ///< float32, int64, or that of the file
  double scale = 1;              ///< float32 values are multiplied by it: 1.0 / 255 for pixels
  Shape shape{Shape::kUnknown};  ///< another shape of the same volume; unknown for the file's own
  std::string name{};            ///< of the component, for messages
};

/// Items of IDX files, as one tensor each: images as float32 from 0 to 1 with
/// scale 1.0 / 255 and shape {28, 28, 1}, labels as int64 scalars.
class IdxDecoder : public RecordDecoder {
 public:
  /// Throws invalid_argument when the items do not have that shape or the dtype
  /// is not one of those above.
  IdxDecoder(const IdxHeader& header, IdxDecoderOptions options);

  std::vector<QueueComponent> components() const override;
  void decode(const RecordRun& run, std::size_t i, Element& element) override;

 private:
  IdxHeader header_;
  IdxDecoderOptions options_;
};

}  // namespace troupe
