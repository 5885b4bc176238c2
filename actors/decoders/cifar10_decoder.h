#pragma once

#include "troupe/actors/decoders/record_decoder.h"

namespace troupe {

/// Records of the binary version of CIFAR-10: one byte of label, and 3 x 32 x 32 bytes of
/// pixels, colour by colour, as {image [32, 32, 3], label (int64, 0 to 9)}. float32 keeps
/// the range of the bytes, 0 to 255, which is what the tutorial's distortions are made for.
///
/// decode throws data_loss for a record of another size or another label:
///
///   data_batch_1.bin:17: the label is 99, but there are classes 0 to 9
class Cifar10Decoder : public RecordDecoder {
 public:
  static constexpr std::int64_t kSide = 32;
  static constexpr std::int64_t kChannels = 3;
  static constexpr std::int64_t kClasses = 10;
  static constexpr std::size_t kRecordBytes = 1 + kSide * kSide * kChannels;

  /// float32 or uint8; throws invalid_argument for another dtype.
  explicit Cifar10Decoder(DType dtype = DType::float32);

  std::vector<QueueComponent> components() const override;
  void decode(const RecordRun& run, std::size_t i, Element& element) override;

 private:
  DType dtype_;
};

}  // namespace troupe
