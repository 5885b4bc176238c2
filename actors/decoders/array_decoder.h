#pragma once

#include <optional>
#include <string>

#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/actors/readers/array_format.h"

namespace troupe {

struct ArrayDecoderOptions {
  /// That of the file; float32 from any dtype, or int64 from integers and bool.
  std::optional<DType> dtype{};
  double scale = 1;              ///< float32 values are multiplied by it: 1.0 / 255 for pixels
  Shape shape{Shape::kUnknown};  ///< another shape of the same volume; unknown for the item's own
  std::string name{};            ///< of the component, for messages
};

/// Items of arrays, as one tensor each: images as float32 from 0 to 1 with scale 1.0 / 255
/// and shape {28, 28, 1}, labels as int64 scalars.
class ArrayDecoder : public RecordDecoder {
 public:
  /// Throws invalid_argument when an item does not have that shape or cannot become
  /// that dtype.
  ArrayDecoder(const ArrayHeader& header, ArrayDecoderOptions options);

  std::vector<QueueComponent> components() const override;
  void decode(const RecordRun& run, std::size_t i, Element& element) override;

 private:
  ArrayHeader header_;
  ArrayDecoderOptions options_;
  DType dtype_;
};

}  // namespace troupe
