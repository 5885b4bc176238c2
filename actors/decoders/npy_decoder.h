#pragma once

#include <optional>
#include <string>

#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/actors/readers/npy_format.h"

namespace troupe {

struct NpyDecoderOptions {
  /// That of the file; float32 from any dtype, or int64 from integers and bool.
  std::optional<DType> dtype{};
  double scale = 1;              ///< float32 values are multiplied by it: 1.0 / 255 for pixels
  Shape shape{Shape::kUnknown};  ///< another shape of the same volume; unknown for the row's own
  std::string name{};            ///< of the component, for messages
};

/// Rows of arrays that NumPy has saved, as one tensor each.
class NpyDecoder : public RecordDecoder {
 public:
  /// Throws invalid_argument when a row does not have that shape or cannot become
  /// that dtype.
  NpyDecoder(const NpyHeader& header, NpyDecoderOptions options);

  std::vector<QueueComponent> components() const override;
  void decode(const RecordRun& run, std::size_t i, Element& element) override;

 private:
  NpyHeader header_;
  NpyDecoderOptions options_;
  DType dtype_;
};

}  // namespace troupe
