#pragma once

#include <string>

#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/ops/shape.h"

namespace troupe {

struct RawDecoderOptions {
  DType dtype = DType::uint8;  ///< any numeric one; or string: the record as it is, shape []
  Shape shape{};               ///< the first extent may be -1: as many rows as the bytes are
  bool big_endian = false;     ///< how values of several bytes stand in the record
  std::string name{};          ///< of the component, for messages
};

/// The bytes of a record as the values of a tensor.
///
/// decode throws invalid_argument:
///
///   batch.bin:7: has 3072 bytes, but float32 of shape [1024] needs 4096
class RawDecoder : public RecordDecoder {
 public:
  /// Throws invalid_argument for a dtype or shape that cannot be.
  explicit RawDecoder(RawDecoderOptions options);

  std::vector<QueueComponent> components() const override;
  void decode(const RecordRun& run, std::size_t i, Element& element) override;

 private:
  RawDecoderOptions options_;
  std::size_t row_bytes_ = 0;  // of what the bytes of a record must be a multiple
};

}  // namespace troupe
